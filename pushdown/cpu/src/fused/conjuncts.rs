// SPDX-License-Identifier: Apache-2.0
//! Splits the predicate of a fragment into conjuncts, each a program of its own.

use nearscan_command::{Fragment, Op, Operand, Program, Step};

/// The conjuncts of the predicate: programs whose last step is the verdict. None if the predicate
/// is empty.
pub(super) fn split(predicate: &Program) -> Vec<Program> {
    let Some(last) = predicate.steps.len().checked_sub(1) else { return Vec::new() };
    let mut verdicts = Vec::new();
    collect(predicate, last, &mut verdicts);
    verdicts.into_iter().map(|verdict| extract(predicate, verdict)).collect()
}

/// Appends the steps that are joined by AND below step `index`, in their order.
fn collect(predicate: &Program, index: usize, verdicts: &mut Vec<usize>) {
    let step = &predicate.steps[index];
    match (step.op, step.a, step.b) {
        (Op::And, Operand::Step(a), Operand::Step(b)) => {
            collect(predicate, usize::from(a), verdicts);
            if a != b {
                collect(predicate, usize::from(b), verdicts);
            }
        }
        _ if verdicts.contains(&index) => {}
        _ => verdicts.push(index),
    }
}

/// The steps that `verdict` needs, itself the last one.
fn extract(program: &Program, verdict: usize) -> Program {
    let mut is_needed = vec![false; verdict + 1];
    is_needed[verdict] = true;
    for index in (0..=verdict).rev() {
        if is_needed[index] {
            steps_of(&program.steps[index]).for_each(|step| is_needed[step] = true);
        }
    }
    let mut places = vec![0; verdict + 1];
    let mut steps = Vec::new();
    for index in (0..=verdict).filter(|index| is_needed[*index]) {
        let moved = |operand| match operand {
            Operand::Step(step) => Operand::Step(places[usize::from(step)]),
            other => other,
        };
        let step = program.steps[index];
        let step = Step { a: moved(step.a), b: moved(step.b), c: moved(step.c), ..step };
        places[index] = u16::try_from(steps.len()).unwrap_or(u16::MAX);
        steps.push(step);
    }
    Program { steps }
}

fn steps_of(step: &Step) -> impl Iterator<Item = usize> {
    [step.a, step.b, step.c].into_iter().filter_map(|operand| match operand {
        Operand::Step(step) => Some(usize::from(step)),
        _ => None,
    })
}

/// The columns that a program reads, in their order.
pub(super) fn columns_of(program: &Program, fragment: &Fragment) -> Vec<usize> {
    let mut columns: Vec<usize> = program
        .steps
        .iter()
        .flat_map(|step| [step.a, step.b, step.c])
        .filter_map(|operand| match operand {
            Operand::Column(column) => Some(usize::from(column)),
            Operand::Test(test) => {
                fragment.tests.get(usize::from(test)).map(|test| usize::from(test.column))
            }
            _ => None,
        })
        .collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Which columns a program reads, but only to test whether they are NULL, `[columns]`.
pub(super) fn only_tested_for_null(program: &Program, fragment: &Fragment) -> Vec<bool> {
    let is_null_test = |step: &Step| matches!(step.op, Op::IsNull | Op::IsNotNull);
    let mut is_only = vec![false; fragment.columns.len()];
    let (tests, others): (Vec<Step>, Vec<Step>) =
        program.steps.iter().partition(|it| is_null_test(it));
    for (steps, only) in [(tests, true), (others, false)] {
        let columns = columns_of(&Program { steps }, fragment);
        columns.into_iter().for_each(|column| is_only[column] = only);
    }
    is_only
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conjunction_is_split_into_programs_of_its_conjuncts() {
        let column = Operand::Column;
        let predicate = Program::new([
            Step::compare(Op::Less, column(0), Operand::Literal(0)),
            Step::unary(Op::IsNull, column(1)),
            Step::compare(Op::Or, Operand::Step(0), Operand::Step(1)),
            Step::compare(Op::Equal, column(2), column(0)),
            Step::compare(Op::And, Operand::Step(2), Operand::Step(3)),
            Step::compare(Op::And, Operand::Step(4), Operand::Step(3)),
        ]);
        let conjuncts = split(&predicate);
        let expected = [
            Program::new(predicate.steps[..3].iter().copied()),
            Program::new([predicate.steps[3]]),
        ];
        assert_eq!(conjuncts, expected);
    }

    #[test]
    fn single_condition_is_its_own_conjunct() {
        assert_eq!(split(&Program::default()), []);
        let verdict = Step::unary(Op::IsNull, Operand::Column(1));
        let doubled = Step::compare(Op::And, Operand::Step(0), Operand::Step(0));
        assert_eq!(split(&Program::new([verdict, doubled])), [Program::new([verdict])]);
    }
}
