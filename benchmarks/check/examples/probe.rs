use std::ops::ControlFlow;
fn main(){ let d=nearscan_emulator::Emulator::open(nearscan_emulator::Config::default());
let o=nearscan_check::Options{conformance: if std::env::args().any(|a|a=="q"){nearscan_check::Extent::Quick}else{nearscan_check::Extent::None},seed:None,folder:None};
let w=nearscan_drive::clock::Stopwatch::start();
let r=nearscan_check::check(&d,&o,&mut |n|{ if !n.contains("cases"){eprintln!("{:?} {n}",w.elapsed());} ControlFlow::Continue(())}).unwrap(); println!("{r}"); println!("{:?}",w.elapsed()); }
