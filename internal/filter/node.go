// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"slices"
	"strconv"
	"strings"
)

// op is what a node does.
type op uint8

const (
	opConstant op = iota
	opProperty    // the value of a property
	opNegate      // -left

	// From here on results are true, false or null.

	opCast      // left, a property, where a condition is wanted: there are no properties that are true
	opNot       // of left
	opAnd       // of all operands
	opOr        // of all operands
	opEqual     // left, right
	opUnequal   // left, right
	opIsNull    // of left
	opIsNotNull // of left
	opLess      // left, right; likewise the next three
	opLessEqual
	opGreater
	opGreaterEqual
	opBetween // left, and as operands the lowest and the highest
	opNotBetween
	opIn // left is a property
	opNotIn
	opContains // left, and the text to look for as constant
	opNotContains
	opStartsWith
	opNotStartsWith
	opEndsWith
	opNotEndsWith
)

// node of a compiled expression; it does not change.
type node struct {
	op          op
	direct      bool   // a comparison of a property with a number or a text
	depth       uint16 // 1 for a leaf
	slot        uint16 // of a property: index of its name
	left, right *node
	operands    []*node
	constant    value
	in          *texts
}

// texts is the list of an IN.
type texts struct {
	list []string
	set  map[string]struct{} // of a long list
}

// longList is from where on a list is searched by hash.
const longList = 8

func newTexts(list []string) *texts {
	t := &texts{list: list}
	if len(list) >= longList {
		t.set = make(map[string]struct{}, len(list))
		for _, s := range list {
			t.set[s] = struct{}{}
		}
	}
	return t
}

func (t *texts) has(b []byte) bool {
	if t.set != nil {
		_, ok := t.set[string(b)]
		return ok
	}
	for _, s := range t.list {
		if s == string(b) {
			return true
		}
	}
	return false
}

// isDirect tells whether the node compares a property with a number or a text.
func (n *node) isDirect() bool {
	if n.op != opEqual && n.op != opUnequal && (n.op < opLess || n.op > opGreaterEqual) || n.left.op != opProperty || n.right.op != opConstant {
		return false
	}
	return n.right.constant.number() || n.right.constant.kind == kindText
}

// boolean tells whether the node's value is always true, false or null.
func (n *node) boolean() bool {
	return n.op >= opCast || n.op == opConstant && (n.constant.kind == kindNull || n.constant.kind == kindBoolean)
}

// operators between two operands, and after one.
var operators = map[op]string{
	opAnd: "AND", opOr: "OR", opEqual: "=", opUnequal: "<>", opLess: "<", opLessEqual: "<=", opGreater: ">", opGreaterEqual: ">=",
	opIsNull: "IS NULL", opIsNotNull: "IS NOT NULL", opBetween: "BETWEEN", opNotBetween: "NOT BETWEEN", opIn: "IN", opNotIn: "NOT IN",
	opContains: "CONTAINS", opNotContains: "NOT CONTAINS", opStartsWith: "STARTSWITH", opNotStartsWith: "NOT STARTSWITH",
	opEndsWith: "ENDSWITH", opNotEndsWith: "NOT ENDSWITH",
}

// print appends the node as an expression with all parentheses.
func (n *node) print(b *strings.Builder, names []string) {
	switch n.op {
	case opConstant:
		b.WriteString(n.constant.literal())
		return
	case opProperty:
		b.WriteString(names[n.slot])
		return
	case opCast:
		n.left.print(b, names)
		return
	}
	b.WriteByte('(')
	switch n.op {
	case opNegate:
		b.WriteString("- ") // two signs without a blank begin a comment
		n.left.print(b, names)
	case opNot:
		b.WriteString("NOT ")
		n.left.print(b, names)
	case opAnd, opOr:
		printList(b, n.operands, " "+operators[n.op]+" ", names)
	default:
		n.left.print(b, names)
		b.WriteByte(' ')
		b.WriteString(operators[n.op])
		n.printRest(b, names)
	}
	b.WriteByte(')')
}

// printRest appends what stands after the operator.
func (n *node) printRest(b *strings.Builder, names []string) {
	switch n.op {
	case opIsNull, opIsNotNull:
		return
	case opBetween, opNotBetween:
		b.WriteByte(' ')
		printList(b, n.operands, " AND ", names)
	case opIn, opNotIn:
		b.WriteString(" (")
		for i, s := range n.in.list {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteText(s))
		}
		b.WriteByte(')')
	case opContains, opNotContains, opStartsWith, opNotStartsWith, opEndsWith, opNotEndsWith:
		b.WriteByte(' ')
		b.WriteString(n.constant.literal())
	default:
		b.WriteByte(' ')
		n.right.print(b, names)
	}
}

func printList(b *strings.Builder, list []*node, separator string, names []string) {
	for i, n := range list {
		if i > 0 {
			b.WriteString(separator)
		}
		n.print(b, names)
	}
}

// quoteText gives a text as a literal.
func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// literal gives a value as it is written in an expression.
func (v value) literal() string {
	switch v.kind {
	case kindBoolean:
		if v.boolean() {
			return "TRUE"
		}
		return "FALSE"
	case kindInt32, kindInt64:
		return strconv.FormatInt(v.integer(), 10)
	case kindFloat:
		s := strconv.FormatFloat(v.float(), 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0" // else it would be an integer
		}
		return s
	case kindText:
		return quoteText(string(v.text))
	}
	return "NULL"
}

// equal tells whether two trees say the same.
func (n *node) equal(o *node) bool {
	if n == nil || o == nil {
		return n == o
	}
	return n.op == o.op && n.slot == o.slot && n.constant.same(o.constant) && n.left.equal(o.left) && n.right.equal(o.right) &&
		slices.EqualFunc(n.operands, o.operands, (*node).equal) &&
		(n.in == nil) == (o.in == nil) && (n.in == nil || slices.Equal(n.in.list, o.in.list))
}
