// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import "strings"

var orders = map[tokenKind]op{tokGreater: opGreater, tokGreaterEqual: opGreaterEqual, tokLess: opLess, tokLessEqual: opLessEqual}

func (p *parser) comparison() (operand, error) {
	left, err := p.unary()
	for err == nil {
		o, ordered := orders[p.tok.kind]
		switch {
		case ordered:
			left, err = p.order(left, o)
		case p.tok.kind == tokNot:
			if err = p.advance(); err == nil {
				left, err = p.test(left, 1, "BETWEEN, IN, CONTAINS, STARTSWITH or ENDSWITH")
			}
		case tests[p.tok.kind] != 0:
			left, err = p.test(left, 0, "")
		default:
			return left, nil
		}
	}
	return left, err
}

func (p *parser) order(left operand, o op) (operand, error) {
	if err := p.advance(); err != nil {
		return left, err
	}
	right, err := p.unary()
	if err != nil {
		return left, err
	}
	if err := p.ordered(left, right); err != nil {
		return left, err
	}
	return p.put(left.start, node{op: o, left: left.node, right: right.node})
}

// ordered refuses operands that cannot be larger or smaller than others.
func (p *parser) ordered(list ...operand) error {
	for _, x := range list {
		switch {
		case x.op == opConstant && x.constant.number():
		case x.op == opConstant && x.constant.kind == kindText:
			return p.refuseOperand(x, "a property or a number", "texts are compared with = and <> only; numbers stand without quotes")
		case x.boolean():
			return p.refuseOperand(x, "a property or a number", "NOT binds tighter than comparisons; use parentheses")
		}
	}
	return nil
}

// tests are the operators that may have a NOT before them; the opposite of each is the next op.
var tests = map[tokenKind]op{
	tokBetween: opBetween, tokIn: opIn, tokContains: opContains, tokStartsWith: opStartsWith, tokEndsWith: opEndsWith,
}

// test parses what comes after left, and after NOT when not is 1.
func (p *parser) test(left operand, not op, want string) (operand, error) {
	o := tests[p.tok.kind]
	if o == 0 {
		return left, p.unexpected(want)
	}
	if err := p.advance(); err != nil {
		return left, err
	}
	switch o {
	case opBetween:
		return p.between(left, o+not)
	case opIn:
		return p.in(left, o+not)
	}
	text, err := p.text()
	if err != nil {
		return left, err
	}
	return p.put(left.start, node{op: o + not, left: left.node, constant: textValue([]byte(text))})
}

func (p *parser) between(left operand, o op) (operand, error) {
	low, err := p.unary()
	if err != nil {
		return left, err
	}
	if err := p.expect(tokAnd, "AND and the largest value of BETWEEN"); err != nil {
		return left, err
	}
	high, err := p.unary()
	if err != nil {
		return left, err
	}
	if err := p.ordered(left, low, high); err != nil {
		return left, err
	}
	if o == opBetween && low.op == opConstant && high.op == opConstant {
		if order, _, _ := compare(low.constant, high.constant); order > 0 {
			return left, p.refuseOperand(high, "a value not below "+low.constant.literal(), "the smaller one comes first")
		}
	}
	return p.put(left.start, node{op: o, left: left.node, operands: []*node{low.node, high.node}})
}

func (p *parser) in(left operand, o op) (operand, error) {
	if err := p.expect(tokOpen, `"("`); err != nil {
		return left, err
	}
	var list []string
	for {
		text, err := p.text()
		if err != nil {
			return left, err
		}
		list = append(list, text)
		more, err := p.accept(tokComma)
		if err != nil {
			return left, err
		}
		if more {
			continue
		}
		if err := p.expect(tokClose, `"," or ")"`); err != nil {
			return left, err
		}
		if left.op != opProperty {
			return left, p.refuseOperand(left, "a property before IN", "")
		}
		return p.put(left.start, node{op: o, left: left.node, in: newTexts(list)})
	}
}

// text parses a text literal.
func (p *parser) text() (string, error) {
	tok := p.tok
	if err := p.expect(tokText, wantText); err != nil {
		return "", err
	}
	return strings.ReplaceAll(p.source[tok.start+1:tok.end-1], "''", "'"), nil
}
