// SPDX-License-Identifier: Apache-2.0
//! Cases of corrupt chunks. No drive may hang or return wrong rows.

use nearscan_command::{Codec, Encoding, Encodings};

use super::select_all;
use crate::{
    case::{Case, Expectation},
    data::{ColumnData, Table, Values},
    pages::{
        ChunkLayout, HeaderStyle, Page, PageKind, ValueLayout, WrittenChunk, assemble, draft,
        encode_runs, number, snappy,
    },
    random::Random,
};

/// Thirty rows in three pages, of each type.
fn tables() -> Vec<(&'static str, Table)> {
    let layouts = [
        ("plain", ChunkLayout::plain()),
        ("dictionary", ChunkLayout { codec: Codec::Uncompressed, ..ChunkLayout::common() }),
        ("Snappy", ChunkLayout::common()),
        ("required", ChunkLayout::common().required()),
    ];
    let mut tables = Vec::new();
    for (name, layout) in layouts {
        let is_nullable = layout.presence == crate::Presence::Optional;
        let layout = ChunkLayout { header: HeaderStyle::Bare, ..layout.paged(&[11]) };
        let some = |n: &i64| !(is_nullable && n % 5 == 2);
        let int64 = (0..30).map(|n| Some(n).filter(some).map(|n| n * 1000 % 7));
        let texts =
            (0..30).map(|n| Some(n).filter(some).map(|n| format!("text {}", n % 4).into_bytes()));
        for values in [Values::Int64(int64.collect()), Values::Bytes(texts.collect())] {
            tables.push((name, Table::new(vec![ColumnData { values, layout: layout.clone() }])));
        }
    }
    tables
}

pub(super) fn case(name: String, table: &Table, expectation: Expectation) -> Case {
    Case::new(name, table.clone(), select_all(table)).expecting(expectation)
}

/// A case whose first chunk is made of changed pages.
pub(super) fn with_pages(
    name: String,
    table: &Table,
    expectation: Expectation,
    change: impl FnOnce(&mut Vec<Page>),
) -> Case {
    let mut case = case(name, table, expectation);
    let column = &table.columns[0];
    let mut pages = draft(&column.values, &column.layout);
    change(&mut pages);
    // The footer was written before the damage.
    let encodings = case.chunks[0].encodings;
    case.chunks[0] = WrittenChunk { encodings, ..assemble(&pages, &column.layout) };
    case
}

/// Headers of pages as common writers make them.
pub(super) fn headers() -> Vec<Case> {
    tables().iter().flat_map(|(name, table)| headers_of(name, table)).collect()
}

/// Every byte of every page header, changed in several ways; and chunks cut anywhere.
pub(super) fn headers_of(name: &str, table: &Table) -> Vec<Case> {
    let mut cases = Vec::new();
    let kind = table.columns[0].values.physical_type();
    let name = format!("{name} {kind:?}");
    let good = case(String::new(), table, Expectation::NotWrong);
    let headers = &good.chunks[0].headers;
    // Of several data pages the first and the last one.
    let (first, last) = (headers.iter().take(2), headers.iter().skip(2).next_back());
    for header in first.chain(last) {
        for at in header.clone() {
            let old = good.chunks[0].bytes[at];
            for new in [old ^ 1, old.wrapping_add(2), old ^ 0x80, 0xff] {
                if new == old {
                    continue;
                }
                let mut changed = good.clone();
                changed.name = format!("{name}, header byte {at} is {new:#x}");
                changed.chunks[0].bytes[at] = new;
                cases.push(changed);
            }
        }
    }
    let length = good.chunks[0].bytes.len();
    for cut in (0..length).step_by(1 + length / 40) {
        let mut changed = good.clone().expecting(Expectation::Refused);
        changed.name = format!("{name}, cut at {cut} of {length}");
        changed.chunks[0].bytes.truncate(cut);
        cases.push(changed);
    }
    let mut random = Random::new(length as u64);
    let mut noise = good.expecting(Expectation::Refused);
    noise.name = format!("{name}, noise");
    noise.chunks[0].bytes.fill_with(|| (random.word() & 0xff) as u8);
    cases.push(noise);
    cases.extend(lies(&name, table));
    cases
}

/// Sizes and counts that are not true.
fn lies(name: &str, table: &Table) -> Vec<Case> {
    let refused = |what: &str, change: fn(&mut Page)| {
        let name = format!("{name}, {what}");
        with_pages(name, table, Expectation::Refused, |pages| {
            if let Some(page) = pages.last_mut() {
                change(page);
            }
        })
    };
    let not_wrong =
        |what: &str, change: fn(&mut Page)| refused(what, change).expecting(Expectation::NotWrong);
    let mut cases = vec![
        refused("one value more than there is", |page| page.value_count += 1),
        refused("eight values more than there are", |page| page.value_count += 8),
        refused("one value fewer than there are", |page| page.value_count -= 1),
        refused("a million values", |page| page.value_count = 1 << 20),
        refused("2^31 - 1 values", |page| page.value_count = (1 << 31) - 1),
        refused("a negative number of values", |page| page.value_count = -1),
        refused("2^40 values", |page| page.value_count = 1 << 40),
        refused("a negative size", |page| page.compressed_size = Some(-1)),
        refused("a size beyond the chunk", |page| page.compressed_size = Some(1 << 20)),
        refused("a size of 2^31 - 1", |page| page.compressed_size = Some((1 << 31) - 1)),
        refused("a body of nothing", |page| page.compressed_size = Some(0)),
        not_wrong("a negative size uncompressed", |page| page.uncompressed_size = Some(-1)),
        not_wrong("a size uncompressed of 0", |page| page.uncompressed_size = Some(0)),
        not_wrong("a size uncompressed of 2^31 - 1", |page| {
            page.uncompressed_size = Some((1 << 31) - 1);
        }),
        refused("an encoding that nobody has", |page| page.encoding = 77),
        refused("an encoding that the footer has not", |page| {
            let delta = number(Encoding::DeltaBinaryPacked);
            let split = number(Encoding::ByteStreamSplit);
            page.encoding = if page.encoding == delta { split } else { delta };
        }),
        refused("a dictionary where data should be", |page| page.kind = PageKind::Dictionary),
        refused("an index where data should be", |page| page.kind = PageKind::Index),
    ];
    let swapped = |what: &str, expectation, change: fn(&mut Vec<Page>)| {
        with_pages(format!("{name}, {what}"), table, expectation, change)
    };
    cases.extend([
        swapped("a page twice", Expectation::Refused, |pages| {
            pages.extend(pages.last().cloned());
        }),
        swapped("a page missing", Expectation::Refused, |pages| {
            pages.remove(1);
        }),
        swapped("no pages", Expectation::Refused, Vec::clear),
        swapped("one row more in one page, one less in the next", Expectation::Refused, |pages| {
            let count = pages.len();
            pages[count - 2].value_count -= 1;
            pages[count - 1].value_count += 1;
        }),
    ]);
    if matches!(table.columns[0].layout.values, ValueLayout::Dictionary { .. }) {
        cases.extend([
            swapped("a dictionary twice", Expectation::NotWrong, |pages| {
                pages.insert(0, pages[0].clone());
            }),
            swapped("a dictionary behind the data", Expectation::Refused, |pages| {
                pages.rotate_left(1);
            }),
            swapped("no dictionary", Expectation::Refused, |pages| {
                pages.remove(0);
            }),
            swapped("a dictionary of dictionary indexes", Expectation::NotWrong, |pages| {
                pages[0].encoding = number(Encoding::RleDictionary);
            }),
            swapped("a dictionary with fewer entries", Expectation::Refused, |pages| {
                pages[0].value_count = 1;
            }),
            swapped("a dictionary with 2^31 - 1 entries", Expectation::NotWrong, |pages| {
                pages[0].value_count = (1 << 31) - 1;
            }),
            swapped("a dictionary with -1 entries", Expectation::Refused, |pages| {
                pages[0].value_count = -1;
            }),
            swapped("a dictionary cut short", Expectation::Refused, |pages| {
                let half = pages[0].body.len() / 2;
                pages[0].body.truncate(half);
            }),
            swapped("a dictionary of nothing", Expectation::Refused, |pages| {
                pages[0].body.clear();
                pages[0].value_count = 0;
            }),
        ]);
    }
    cases
}

/// Levels, indexes and values that contradict the format or each other.
pub(super) fn bodies() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, table) in tables() {
        let column = &table.columns[0];
        let name = format!("{name} {:?}", column.values.physical_type());
        let is_nullable = column.layout.presence == crate::Presence::Optional;
        let is_dictionary = matches!(column.layout.values, ValueLayout::Dictionary { .. });
        // Where the values of a page start, behind its levels.
        let values_at = move |body: &[u8]| match is_nullable {
            false => 0,
            true => 4 + usize::from(body[0]),
        };
        let changed = |what: &str, expectation, change: &dyn Fn(&mut Vec<u8>)| {
            with_pages(format!("{name}, {what}"), &table, expectation, |pages| {
                let last = pages.len() - 1;
                change(&mut pages[last].body);
            })
        };
        let refused =
            |what: &str, change: &dyn Fn(&mut Vec<u8>)| changed(what, Expectation::Refused, change);
        cases.push(refused("an empty body", &Vec::clear));
        cases.push(changed("bytes behind the values", Expectation::NotWrong, &|body| {
            body.extend_from_slice(&[0; 40]);
        }));
        if is_nullable {
            cases.push(refused("levels longer than the page", &|body| {
                body[..4].copy_from_slice(&1000u32.to_le_bytes());
            }));
            cases.push(refused("levels of 4 GiB", &|body| body[..4].fill(0xff)));
            cases.push(refused("levels cut short", &|body| {
                let at = values_at(body);
                let levels = encode_runs(&[1; 3], 1, crate::pages::Runs::Repeated);
                let length = u32::try_from(levels.len()).unwrap_or(0).to_le_bytes();
                body.splice(..at, [&length[..], &levels].concat());
            }));
            cases.push(refused("more levels that are not null than values", &|body| {
                let at = values_at(body);
                let levels = encode_runs(&[1; 8], 1, crate::pages::Runs::Repeated);
                let length = u32::try_from(levels.len()).unwrap_or(0).to_le_bytes();
                let values = body[at..].to_vec();
                let cut = if is_dictionary { 1 } else { 8 };
                *body = [&length[..], &levels, &values[..cut]].concat();
            }));
            cases.push(with_pages(
                format!("{name}, bit-packed levels"),
                &table,
                Expectation::Refused,
                |pages| {
                    for page in pages {
                        page.level_encoding = 4;
                    }
                },
            ));
        }
        if is_dictionary {
            for width in [33, 64, 255] {
                cases.push(refused(&format!("indexes of {width} bits"), &|body| {
                    let at = values_at(body);
                    body[at] = width;
                }));
            }
            cases.push(refused("no indexes", &|body| body.truncate(values_at(body) + 1)));
            cases.push(refused("not even a width", &|body| body.truncate(values_at(body))));
            for (what, index) in [("one", 16u64), ("a large", 0x7fff), ("a negative", 0xffff_ffff)]
            {
                cases.push(refused(&format!("{what} index that is not there"), &|body| {
                    body.truncate(values_at(body));
                    let width = 32 - u8::try_from(index.leading_zeros() - 32).unwrap_or(0);
                    body.push(width);
                    body.extend(encode_runs(&[index; 8], width, crate::pages::Runs::Repeated));
                }));
                cases.push(refused(&format!("{what} index that is not there, packed"), &|body| {
                    body.truncate(values_at(body));
                    let width = 32 - u8::try_from(index.leading_zeros() - 32).unwrap_or(0);
                    body.push(width);
                    body.extend(encode_runs(&[index; 8], width, crate::pages::Runs::Packed));
                }));
            }
            cases.push(changed("a run longer than the page", Expectation::NotWrong, &|body| {
                body.extend_from_slice(&[0xfe, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0]);
            }));
        } else {
            cases.push(refused("values cut by a byte", &|body| {
                body.pop();
            }));
        }
        if !is_dictionary && matches!(column.values, Values::Bytes(_)) {
            for length in [100u32, u32::MAX, 1 << 31, (1 << 31) - 1] {
                cases.push(refused(&format!("a string of {length} bytes"), &|body| {
                    let at = values_at(body);
                    body[at..at + 4].copy_from_slice(&length.to_le_bytes());
                }));
            }
        }
    }
    cases
}

/// Snappy that contradicts its format.
pub(super) fn compressed() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, table) in tables() {
        if name != "Snappy" {
            continue;
        }
        let name = format!("{name} {:?}", table.columns[0].values.physical_type());
        for page_index in [0, 1] {
            let changed = |what: &str, expectation, change: &dyn Fn(&[u8]) -> Vec<u8>| {
                let name = format!("{name}, page {page_index}, {what}");
                with_pages(name, &table, expectation, |pages| {
                    let page = &mut pages[page_index];
                    page.compressed = Some(change(&page.body));
                })
            };
            let pack = |body: &[u8]| snappy::compress(body, snappy::Style::Common);
            let refused = |what: &str, change: &dyn Fn(&[u8]) -> Vec<u8>| {
                changed(what, Expectation::Refused, change)
            };
            cases.extend([
                refused("nothing", &|_| vec![]),
                refused("only a length", &|body| pack(body)[..1].to_vec()),
                refused("a length that does not end", &|_| vec![0xff; 12]),
                refused("a length one too large", &|body| {
                    let mut packed = pack(body);
                    packed[0] += 1;
                    packed
                }),
                refused("a length one too small", &|body| {
                    let mut packed = pack(body);
                    packed[0] -= 1;
                    packed
                }),
                refused("a length of 4 GiB", &|body| {
                    [&[0xff, 0xff, 0xff, 0xff, 0x0f][..], &pack(body)[1..]].concat()
                }),
                refused("cut by a byte", &|body| {
                    let mut packed = pack(body);
                    packed.pop();
                    packed
                }),
                refused("a copy from before the start", &|body| {
                    [&[pack(body)[0], 1, 9][..], &pack(body)[1..]].concat()
                }),
                refused("a copy from where it is", &|body| {
                    [&[pack(body)[0], 0, 7, 2, 0, 0][..], &pack(body)[1..]].concat()
                }),
                refused("a literal of 4 GiB", &|body| {
                    vec![pack(body)[0], 0xfc, 0xff, 0xff, 0xff, 0xff, 0]
                }),
                refused("a copy from 4 GiB back", &|body| {
                    vec![pack(body)[0], 0, 7, 0xff, 0xff, 0xff, 0xff, 0xff]
                }),
                refused("not compressed at all", &|body| [&[0x80; 4][..], body].concat()),
                changed("bytes behind the end", Expectation::NotWrong, &|body| {
                    [pack(body), vec![0, 0, 0, 0]].concat()
                }),
            ]);
        }
    }
    cases
}

/// Units that declare rows which their chunks do not have.
pub(super) fn accounting() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, table) in tables() {
        let name = format!("{name} {:?}", table.columns[0].values.physical_type());
        for (what, rows) in [("a row fewer", 29), ("a row more", 31), ("2^31 rows", 1 << 31)] {
            let mut wrong = case(format!("{name}, a unit of {what}"), &table, Expectation::Refused);
            wrong.unit_rows = rows;
            cases.push(wrong);
        }
        let mut no_size =
            case(format!("{name}, no size in the footer"), &table, Expectation::NotWrong);
        no_size.chunks[0].uncompressed_bytes = 0;
        cases.push(no_size);
        if matches!(table.columns[0].layout.values, ValueLayout::Dictionary { .. }) {
            let mut foreign =
                case(format!("{name}, encodings not in the footer"), &table, Expectation::Refused);
            foreign.chunks[0].encodings = Encodings::of([Encoding::Plain, Encoding::Rle]);
            cases.push(foreign);
        }
    }
    // Columns of different lengths.
    let long = ColumnData { values: Values::integers(0..30), layout: ChunkLayout::common() };
    let short = ColumnData { values: Values::integers(0..29), layout: ChunkLayout::common() };
    let whole = Table::new(vec![long.clone(), long.clone()]);
    let mut uneven = case("columns of 30 and 29 rows".to_owned(), &whole, Expectation::Refused);
    uneven.chunks[1] = crate::pages::write_chunk(&short.values, &short.layout);
    cases.push(uneven);
    cases
}
