//! Arithmetic expressions, evaluated by recursive descent.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = signed (("*" | "/" | "%") signed)*
//! signed  = ("-" | "+") signed | power
//! power   = atom ("^" signed)?          so -2^2 is -4, and 2^3^2 is 2^9
//! atom    = number | "(" sum ")"
//! ```

/// Maximum nesting of signs, powers and parentheses.
const MAX_DEPTH: usize = 64;
const MAX_LEN: usize = 10_000;

/// Evaluates an expression.
pub(super) fn evaluate(text: &str) -> Result<f64, String> {
    if text.len() > MAX_LEN {
        return Err(format!("longer than {MAX_LEN} characters"));
    }
    let mut parser = ExpressionParser { text, at: 0 };
    let value = parser.sum(MAX_DEPTH)?;
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.unexpected()),
    }
}

struct ExpressionParser<'a> {
    text: &'a str,
    at: usize,
}

impl ExpressionParser<'_> {
    fn sum(&mut self, depth: usize) -> Result<f64, String> {
        let mut value = self.product(depth)?;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            self.skip();
            let next = self.product(depth)?;
            value = finite(if sign == '+' {
                value + next
            } else {
                value - next
            })?;
        }
        Ok(value)
    }

    fn product(&mut self, depth: usize) -> Result<f64, String> {
        let mut value = self.signed(depth)?;
        while let Some(operator @ ('*' | '/' | '%')) = self.peek() {
            self.skip();
            let next = self.signed(depth)?;
            value = match operator {
                '*' => finite(value * next)?,
                _ if next == 0.0 => return Err("division by zero".into()),
                '/' => finite(value / next)?,
                _ => finite(value % next)?,
            };
        }
        Ok(value)
    }

    fn signed(&mut self, depth: usize) -> Result<f64, String> {
        let deeper = depth.checked_sub(1);
        let depth = deeper.ok_or_else(|| format!("nested deeper than {MAX_DEPTH} levels"))?;
        match self.peek() {
            Some('-') => {
                self.skip();
                Ok(-self.signed(depth)?)
            }
            Some('+') => {
                self.skip();
                self.signed(depth)
            }
            _ => self.power(depth),
        }
    }

    fn power(&mut self, depth: usize) -> Result<f64, String> {
        let base = self.atom(depth)?;
        if self.peek() != Some('^') {
            return Ok(base);
        }
        self.skip();
        let exponent = self.signed(depth)?;
        finite(base.powf(exponent))
    }

    fn atom(&mut self, depth: usize) -> Result<f64, String> {
        match self.peek() {
            Some('(') => {
                self.skip();
                let value = self.sum(depth)?;
                if self.peek() != Some(')') {
                    return Err(self.unexpected());
                }
                self.skip();
                Ok(value)
            }
            Some('0'..='9' | '.') => self.number(),
            _ => Err(self.unexpected()),
        }
    }

    fn number(&mut self) -> Result<f64, String> {
        let rest = &self.text[self.at..];
        let digits = |from: usize| -> usize {
            let rest = &rest[from..];
            from + rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len())
        };
        let mut end = digits(0);
        if rest[end..].starts_with('.') {
            end = digits(end + 1);
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
            let exponent = digits(end + 1 + sign);
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        let number = rest[..end].parse().map_err(|_| self.unexpected())?;
        self.at += end;
        finite(number)
    }

    /// Skips whitespace and returns the next character.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn skip(&mut self) {
        self.at += self.text[self.at..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
    }

    fn unexpected(&mut self) -> String {
        match self.peek() {
            None => "unexpected end of the expression".into(),
            Some(c) => {
                let place = self.text[..self.at].chars().count() + 1;
                format!("unexpected `{c}` at character {place}")
            }
        }
    }
}

fn finite(value: f64) -> Result<f64, String> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err("the result is not a finite number".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn operators_have_conventional_precedence() {
        for (text, value) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("10 - 4 - 3", 3.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("-2 ^ 2", -4.0),
            ("2 ^ -1", 0.5),
            ("--3", 3.0),
            ("7 % 4 * 2", 6.0),
            ("1.5e3 + 2E-1 + .5", 1_500.7),
            ("  ( ( 8 ) )  ", 8.0),
        ] {
            assert_eq!(evaluate(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn invalid_expressions_are_explained() {
        for (text, expected) in [
            ("", "unexpected end"),
            ("2 +", "unexpected end"),
            ("2 ü 3", "unexpected `ü` at character 3"),
            ("(2", "unexpected end"),
            ("2)", "unexpected `)`"),
            ("2e", "unexpected `e`"),
            (".", "unexpected `.`"),
            ("1 / 0", "division by zero"),
            ("1 % (2 - 2)", "division by zero"),
            ("10 ^ 1000", "not a finite number"),
            ("(-8) ^ 0.5", "not a finite number"),
            ("9e999", "not a finite number"),
        ] {
            let error = evaluate(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(evaluate(&"(".repeat(9_000)).unwrap_err().contains("deeper"));
        assert!(
            evaluate(&"1".repeat(10_001))
                .unwrap_err()
                .contains("longer")
        );
    }

    proptest! {
        #[test]
        fn no_expression_panics(text in "[-+*/%^().eE0-9 ü]{0,60}") {
            let _ = evaluate(&text);
        }

        #[test]
        fn results_agree_with_rust(a in -1e6_f64..1e6, b in -1e6_f64..1e6, c in 1e-3_f64..1e6) {
            let text = format!("{a} + {b} * ({c} - {a}) / {c}");
            prop_assert_eq!(evaluate(&text), Ok(a + b * (c - a) / c));
        }
    }
}
