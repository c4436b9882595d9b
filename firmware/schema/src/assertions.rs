//! The keywords that say something about a value itself, without the schemas inside.

use core::cmp::Ordering;
use core::fmt::Write as _;

use super::Exhausted;
use super::equal::{equal, has};
use super::exact::Exact;
use super::invalid::{Limit, Reason};
use super::keyword::{Keyword, Keywords};
use super::pattern::{self, Match};
use super::types::Types;
use super::validate::Check;
use hub_json::{Kind, Value};

impl<'s> Check<'s> {
    /// All of them. `depth` is how deep values may be compared.
    pub(super) fn assertions(
        &mut self,
        keywords: &Keywords<'s>,
        value: Value<'_>,
        depth: u8,
    ) -> Result<(), Reason<'s>> {
        self.choice(keywords, value, depth)?;
        match value.kind() {
            Kind::Number => self.number(keywords, value),
            Kind::String => self.string(keywords, value),
            Kind::Array => self.array(keywords, value, depth),
            Kind::Object => self.object(keywords, value),
            Kind::Null | Kind::Bool => Ok(()),
        }
    }

    /// `type`, `const` and `enum`.
    fn choice(&mut self, keywords: &Keywords<'s>, value: Value<'_>, depth: u8) -> Result<(), Reason<'s>> {
        if let Some(types) = keywords.get(Keyword::Type).and_then(Types::named) {
            let own = Types::of(value);
            let fits = types.meets(own)
                || own == Types::NUMBER
                    && types.meets(Types::INTEGER)
                    && Exact::read(value, &mut self.work)?.is_integer();
            if !fits {
                return Err(Reason::Type(types));
            }
        }
        if let Some(constant) = keywords.get(Keyword::Const)
            && !self.may_be(constant, value, depth)?
        {
            return Err(Reason::Constant(constant));
        }
        if let Some(options) = keywords.get(Keyword::Enum) {
            for option in options.items() {
                self.work.spend(option.text().len())?;
                if self.may_be(option, value, depth)? {
                    return Ok(());
                }
            }
            return Err(Reason::Options(options));
        }
        Ok(())
    }

    /// Whether `value` is equal to `other`. If both are nested too deeply to tell, it may be, and the verdict is in doubt.
    pub(super) fn may_be(
        &mut self,
        other: Value<'_>,
        value: Value<'_>,
        depth: u8,
    ) -> Result<bool, Exhausted> {
        match equal(other, value, &mut self.work, depth) {
            Err(Exhausted) if !self.work.is_spent() => {
                self.doubt = true;
                Ok(true)
            }
            known => known,
        }
    }

    fn number(&mut self, keywords: &Keywords<'s>, value: Value<'_>) -> Result<(), Reason<'s>> {
        const BOUNDS: [(Keyword, Limit); 4] = [
            (Keyword::Minimum, Limit::AtLeast),
            (Keyword::Maximum, Limit::AtMost),
            (Keyword::ExclusiveMinimum, Limit::MoreThan),
            (Keyword::ExclusiveMaximum, Limit::LessThan),
        ];
        for (keyword, limit) in BOUNDS {
            if let Some(bound) = keywords.get(keyword) {
                let number = Exact::read(value, &mut self.work)?;
                if !self.within(&number, limit, bound)? {
                    return Err(Reason::Number(limit, bound));
                }
            }
        }
        if let Some(divisor) = keywords.get(Keyword::MultipleOf) {
            let number = Exact::read(value, &mut self.work)?;
            let exact = Exact::read(divisor, &mut self.work)?;
            if !number.is_multiple_of(&exact, &mut self.work)? {
                return Err(Reason::MultipleOf(divisor));
            }
        }
        Ok(())
    }

    fn string(&mut self, keywords: &Keywords<'s>, value: Value<'_>) -> Result<(), Reason<'s>> {
        for (keyword, limit) in [(Keyword::MinLength, Limit::AtLeast), (Keyword::MaxLength, Limit::AtMost)] {
            if let (Some(bound), Some(text)) = (keywords.get(keyword), value.as_text()) {
                self.work.spend(value.text().len())?;
                if !self.count_within(text.chars().count(), limit, bound)? {
                    return Err(Reason::Characters(limit, bound));
                }
            }
        }
        if let Some(wanted) = keywords.get(Keyword::Pattern)
            && let (Some(pattern), Some(text)) = (wanted.as_text(), value.as_text())
        {
            match pattern::search(pattern, text, &mut self.work) {
                Match::Yes => {}
                Match::No => return Err(Reason::Pattern(wanted)),
                Match::Unclear => self.doubt = true,
            }
        }
        Ok(())
    }

    fn array(&mut self, keywords: &Keywords<'s>, value: Value<'_>, depth: u8) -> Result<(), Reason<'s>> {
        for (keyword, limit) in [(Keyword::MinItems, Limit::AtLeast), (Keyword::MaxItems, Limit::AtMost)] {
            if let Some(bound) = keywords.get(keyword) {
                self.work.spend(value.text().len())?;
                if !self.count_within(value.items().count(), limit, bound)? {
                    return Err(Reason::Items(limit, bound));
                }
            }
        }
        if keywords.get(Keyword::UniqueItems).is_some_and(|unique| unique.text() == "true") {
            let mut items = value.items();
            while let Some(item) = items.next() {
                for later in items.clone() {
                    self.work.spend(later.text().len())?;
                    let doubt = self.doubt;
                    if self.may_be(item, later, depth)? && self.doubt == doubt {
                        return Err(Reason::Repeated);
                    }
                }
            }
        }
        Ok(())
    }

    fn object(&mut self, keywords: &Keywords<'s>, value: Value<'_>) -> Result<(), Reason<'s>> {
        self.required(keywords.get(Keyword::Required), value, Reason::Missing)?;
        for (name, needed) in keywords.get(Keyword::DependentRequired).iter().flat_map(Value::members) {
            if has(value.members(), name, &mut self.work)? {
                self.required(Some(needed), value, Reason::Needed(name))?;
            }
        }
        for (keyword, limit) in
            [(Keyword::MinProperties, Limit::AtLeast), (Keyword::MaxProperties, Limit::AtMost)]
        {
            if let Some(bound) = keywords.get(keyword) {
                let mut count = 0;
                let mut members = value.members();
                while let Some((name, _)) = members.next() {
                    count += usize::from(!has(members.clone(), name, &mut self.work)?);
                }
                if !self.count_within(count, limit, bound)? {
                    return Err(Reason::Members(limit, bound));
                }
            }
        }
        Ok(())
    }

    /// Fails with `reason` at the first of `names` that `object` does not have.
    fn required(
        &mut self,
        names: Option<Value<'s>>,
        object: Value<'_>,
        reason: Reason<'s>,
    ) -> Result<(), Reason<'s>> {
        for name in names.iter().flat_map(Value::items) {
            self.work.spend(name.text().len())?;
            if let Some(name) = name.as_text()
                && !has(object.members(), name, &mut self.work)?
            {
                self.path.enter(name);
                return Err(reason);
            }
        }
        Ok(())
    }

    fn within(&mut self, number: &Exact<'_>, limit: Limit, bound: Value<'_>) -> Result<bool, Exhausted> {
        let order = number.compare(&Exact::read(bound, &mut self.work)?);
        Ok(match limit {
            Limit::AtLeast => order != Ordering::Less,
            Limit::AtMost => order != Ordering::Greater,
            Limit::MoreThan => order == Ordering::Greater,
            Limit::LessThan => order == Ordering::Less,
        })
    }

    pub(super) fn count_within(
        &mut self,
        count: usize,
        limit: Limit,
        bound: Value<'_>,
    ) -> Result<bool, Exhausted> {
        let mut text = heapless::String::<20>::new();
        // Twenty digits are enough for any count.
        let _ = write!(text, "{count}");
        self.within(&Exact::parse(text.as_bytes()), limit, bound)
    }
}
