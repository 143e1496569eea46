//! Operation sets shared by several positions, generic over the input.

use std::marker::PhantomData;

use super::Op;
use super::check::{on_number, on_text};
use crate::Subject;
use crate::number_match::Compare;
use crate::text_match::{contains, equals, glob};

/// Reads a name; operations never hold if it is absent.
pub(super) trait Name {
    fn read<'s>(subject: &'s Subject<'_>) -> Option<&'s str>;
}

/// `equals`, `contains` and `glob` on a name.
pub(super) struct NameOps<R>(PhantomData<R>);

impl<R: Name> NameOps<R> {
    pub(super) const ALL: &'static [Op] = &[
        Op {
            name: "equals",
            compile: |value| on_text(value, R::read, equals),
        },
        Op {
            name: "contains",
            compile: |value| on_text(value, R::read, contains),
        },
        Op {
            name: "glob",
            compile: |value| on_text(value, R::read, glob),
        },
    ];
}

/// Reads a number.
pub(super) trait Number {
    fn read(subject: &Subject<'_>) -> u64;
}

/// `ge`, `gt`, `le`, `lt` and `eq` on a number.
pub(super) struct NumberOps<R>(PhantomData<R>);

impl<R: Number> NumberOps<R> {
    const GE: Op = Op {
        name: "ge",
        compile: |value| on_number(value, R::read, Compare::AtLeast),
    };
    const GT: Op = Op {
        name: "gt",
        compile: |value| on_number(value, R::read, Compare::MoreThan),
    };
    const LE: Op = Op {
        name: "le",
        compile: |value| on_number(value, R::read, Compare::AtMost),
    };
    const LT: Op = Op {
        name: "lt",
        compile: |value| on_number(value, R::read, Compare::LessThan),
    };
    const EQ: Op = Op {
        name: "eq",
        compile: |value| on_number(value, R::read, Compare::Exactly),
    };

    pub(super) const ALL: &'static [Op] = &[Self::GE, Self::GT, Self::LE, Self::LT, Self::EQ];
    /// For estimates.
    pub(super) const WITHOUT_EQ: &'static [Op] = &[Self::GE, Self::GT, Self::LE, Self::LT];
}
