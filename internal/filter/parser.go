// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bounds of an expression. RocketMQ has none.
const (
	MaxLength = 64 << 10 // bytes
	MaxDepth  = 200      // of parentheses, signs and operators within each other; a list of ANDs or ORs counts once
)

// What may stand at some place, for errors.
const (
	wantOperand   = `a property, a value, NOT or "("`
	wantCondition = "a condition or a property"
	wantText      = "a text in single quotes"
)

// parser builds the tree of an expression by recursive descent, one token ahead:
//
//	or         := and { OR and }
//	and        := equality { AND equality }
//	equality   := comparison { ("=" | "<>") comparison | IS [NOT] NULL }
//	comparison := unary { (">" | ">=" | "<" | "<=") unary
//	                    | [NOT] (CONTAINS | STARTSWITH | ENDSWITH) text
//	                    | [NOT] BETWEEN unary AND unary
//	                    | [NOT] IN "(" text { "," text } ")" }
//	unary      := ("+" | "-" | NOT) unary | primary
//	primary    := integer | float | text | TRUE | FALSE | NULL | name | "(" or ")"
//
// What an operator takes is checked when its node is made, as RocketMQ does.
type parser struct {
	lexer
	tok   token // the next one
	last  token // the one before
	depth int   // of the recursion
	names []string
	slots map[string]uint16
}

// operand is a parsed part: its node, and where it stands.
type operand struct {
	*node
	start, end int
}

// parse gives the tree, and where reading ended.
func (p *parser) parse() (*node, int, error) {
	if err := p.advance(); err != nil {
		return nil, 0, err
	}
	x, err := p.or()
	if err != nil {
		return nil, 0, err
	}
	root, err := p.condition(x)
	if err != nil {
		return nil, 0, err
	}
	return root, p.tok.start, nil
}

func (p *parser) advance() error {
	tok, err := p.next()
	if err != nil {
		return err
	}
	p.last, p.tok = p.tok, tok
	return nil
}

// accept moves on if the next token is of the kind.
func (p *parser) accept(kind tokenKind) (bool, error) {
	if p.tok.kind != kind {
		return false, nil
	}
	return true, p.advance()
}

// expect is accept for what must be there.
func (p *parser) expect(kind tokenKind, want string) error {
	if p.tok.kind != kind {
		return p.unexpected(want)
	}
	return p.advance()
}

func (p *parser) unexpected(want string) error {
	hint := ""
	if p.tok.kind == tokEqual && p.last.kind == tokEqual {
		hint = "equal is ="
	}
	return p.fault(p.tok.start, p.tok.end, want, hint)
}

// refuse makes the error of an operand that its operator does not take.
func (p *parser) refuseOperand(x operand, want, hint string) error {
	return p.fault(x.start, x.end, want, hint)
}

// enter counts a level of recursion.
func (p *parser) enter() error {
	if p.depth++; p.depth > MaxDepth {
		return p.tooDeep()
	}
	return nil
}

func (p *parser) tooDeep() error {
	return p.fault(p.tok.start, p.tok.end, fmt.Sprintf("at most %d levels", MaxDepth), "")
}

// put makes a part of a node whose children are set; it began where x does and ends with the last token.
func (p *parser) put(start int, n node) (operand, error) {
	deepest := uint16(0)
	if n.left != nil {
		deepest = n.left.depth
	}
	if n.right != nil {
		deepest = max(deepest, n.right.depth)
	}
	for _, o := range n.operands {
		deepest = max(deepest, o.depth)
	}
	if n.depth = deepest + 1; n.depth > MaxDepth {
		return operand{}, p.tooDeep()
	}
	n.direct = n.isDirect()
	return operand{&n, start, p.last.end}, nil
}

func (p *parser) or() (operand, error)  { return p.list(tokOr, opOr, p.and) }
func (p *parser) and() (operand, error) { return p.list(tokAnd, opAnd, p.equality) }

// list parses parts with one operator between them, which is as good as pairs from left to right.
func (p *parser) list(separator tokenKind, o op, part func() (operand, error)) (operand, error) {
	left, err := part()
	if err != nil {
		return left, err
	}
	var operands []*node
	for p.tok.kind == separator {
		if operands == nil {
			n, err := p.condition(left)
			if err != nil {
				return left, err
			}
			operands = append(operands, n)
			if n.op == o {
				operands = append([]*node(nil), n.operands...)
			}
		}
		if err := p.advance(); err != nil {
			return left, err
		}
		right, err := part()
		if err != nil {
			return left, err
		}
		n, err := p.condition(right)
		if err != nil {
			return left, err
		}
		operands = append(operands, n)
	}
	if operands == nil {
		return left, nil
	}
	return p.put(left.start, node{op: o, operands: operands})
}

// condition takes a part as something that is true, false or null.
func (p *parser) condition(x operand) (*node, error) {
	switch {
	case x.boolean():
		return x.node, nil
	case x.op == opProperty:
		return &node{op: opCast, left: x.node, depth: x.depth + 1}, nil
	}
	return nil, p.refuseOperand(x, wantCondition, "")
}

func (p *parser) equality() (operand, error) {
	left, err := p.comparison()
	for err == nil {
		switch p.tok.kind {
		case tokEqual:
			left, err = p.equal(left, opEqual)
		case tokUnequal:
			left, err = p.equal(left, opUnequal)
		case tokIs:
			left, err = p.isNull(left)
		default:
			return left, nil
		}
	}
	return left, err
}

func (p *parser) equal(left operand, o op) (operand, error) {
	if err := p.advance(); err != nil {
		return left, err
	}
	right, err := p.comparison()
	if err != nil {
		return left, err
	}
	for _, x := range []operand{left, right} {
		if x.op == opConstant && x.constant.kind == kindNull {
			return left, p.refuseOperand(x, "a property or a value", "missing properties are found with IS NULL")
		}
	}
	if left.op == opConstant && left.boolean() && right.op == opConstant && !right.boolean() {
		return left, p.refuseOperand(right, "a condition or a property, as TRUE and FALSE stand left of it", "")
	}
	return p.put(left.start, node{op: o, left: left.node, right: right.node})
}

func (p *parser) isNull(left operand) (operand, error) {
	if err := p.advance(); err != nil {
		return left, err
	}
	o, want := opIsNull, "NULL or NOT NULL"
	not, err := p.accept(tokNot)
	if err != nil {
		return left, err
	}
	if not {
		o, want = opIsNotNull, "NULL"
	}
	if err := p.expect(tokNull, want); err != nil {
		return left, err
	}
	return p.put(left.start, node{op: o, left: left.node})
}

func (p *parser) unary() (operand, error) {
	kind, start := p.tok.kind, p.tok.start
	if kind != tokPlus && kind != tokMinus && kind != tokNot {
		return p.primary()
	}
	if err := p.enter(); err != nil {
		return operand{}, err
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return operand{}, err
	}
	x, err := p.unary()
	switch {
	case err != nil || kind == tokPlus:
		return x, err
	case kind == tokMinus:
		return p.put(start, node{op: opNegate, left: x.node})
	}
	n, err := p.condition(x)
	if err != nil {
		return x, err
	}
	return p.put(start, node{op: opNot, left: n})
}

func (p *parser) primary() (operand, error) {
	tok := p.tok
	image := p.source[tok.start:tok.end]
	n := node{op: opConstant}
	switch tok.kind {
	case tokOpen:
		return p.inParentheses()
	case tokName:
		n = node{op: opProperty, slot: p.slot(image)}
	case tokTrue, tokFalse:
		n.constant = booleanValue(tok.kind == tokTrue)
	case tokNull:
	case tokText:
		text, err := p.text()
		if err != nil {
			return operand{}, err
		}
		n.constant = textValue([]byte(text))
		return p.put(tok.start, n)
	case tokInteger:
		i, err := strconv.ParseInt(strings.TrimRight(image, "lL"), 10, 64)
		if err != nil {
			return operand{}, p.fault(tok.start, tok.end, fmt.Sprintf("an integer up to %d", math.MaxInt64), "")
		}
		n.constant = integerValue(i)
	case tokFloat:
		f, err := strconv.ParseFloat(image, 64)
		if err != nil || f == 0 {
			return operand{}, p.fault(tok.start, tok.end, "a number from 4.9e-324 to 1.7976931348623157e308", "zero is 0")
		}
		n.constant = floatValue(f)
	default:
		return operand{}, p.unexpected(wantOperand)
	}
	if err := p.advance(); err != nil {
		return operand{}, err
	}
	return p.put(tok.start, n)
}

func (p *parser) inParentheses() (operand, error) {
	start := p.tok.start
	if err := p.enter(); err != nil {
		return operand{}, err
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return operand{}, err
	}
	x, err := p.or()
	if err != nil {
		return x, err
	}
	if err := p.expect(tokClose, `")" or an operator`); err != nil {
		return x, err
	}
	x.start, x.end = start, p.last.end
	return x, nil
}

// slot gives a property its number.
func (p *parser) slot(name string) uint16 {
	n, known := p.slots[name]
	if !known {
		n = uint16(len(p.names))
		name = strings.Clone(name)
		p.slots[name] = n
		p.names = append(p.names, name)
	}
	return n
}
