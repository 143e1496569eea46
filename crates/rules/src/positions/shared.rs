//! Operation sets shared by several positions, generic over the input.

use std::marker::PhantomData;

use super::Op;
use super::check::{check_number, check_text};
use crate::Subject;
use crate::number_match::Compare;
use crate::text_match::{contains, equals, glob};

/// Reads a name; operations never hold if it is absent.
pub(super) trait NameInput {
    fn read<'s>(subject: &'s Subject<'_>) -> Option<&'s str>;
}

/// `equals`, `contains` and `glob` on a name.
pub(super) struct NameOps<R>(PhantomData<R>);

impl<R: NameInput> NameOps<R> {
    pub(super) const ALL: &'static [Op] = &[
        Op {
            name: "equals",
            compile: |value| check_text(value, R::read, equals),
        },
        Op {
            name: "contains",
            compile: |value| check_text(value, R::read, contains),
        },
        Op {
            name: "glob",
            compile: |value| check_text(value, R::read, glob),
        },
    ];
}

/// Reads a number.
pub(super) trait NumberInput {
    fn read(subject: &Subject<'_>) -> u64;
}

/// `ge`, `gt`, `le`, `lt` and `eq` on a number.
pub(super) struct NumberOps<R>(PhantomData<R>);

impl<R: NumberInput> NumberOps<R> {
    const GE: Op = Op {
        name: "ge",
        compile: |value| check_number(value, R::read, Compare::AtLeast),
    };
    const GT: Op = Op {
        name: "gt",
        compile: |value| check_number(value, R::read, Compare::MoreThan),
    };
    const LE: Op = Op {
        name: "le",
        compile: |value| check_number(value, R::read, Compare::AtMost),
    };
    const LT: Op = Op {
        name: "lt",
        compile: |value| check_number(value, R::read, Compare::LessThan),
    };
    const EQ: Op = Op {
        name: "eq",
        compile: |value| check_number(value, R::read, Compare::Exactly),
    };

    pub(super) const ALL: &'static [Op] = &[Self::GE, Self::GT, Self::LE, Self::LT, Self::EQ];
    /// For estimates.
    pub(super) const WITHOUT_EQ: &'static [Op] = &[Self::GE, Self::GT, Self::LE, Self::LT];
}
