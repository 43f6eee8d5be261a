// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
)

// reading is one evaluation.
type reading struct {
	values [][]byte // of the properties; nil: missing
	failed failure
}

// failure is the comparison that failed.
type failure struct {
	node        *node
	left, right value
}

var kindNames = [...]string{
	kindBoolean: "a boolean", kindInt32: "an integer of 32 bits", kindInt64: "an integer of 64 bits", kindFloat: "a number",
}

func (f *failure) reason() string {
	l, r := f.left, f.right
	switch {
	case l.kind == kindText && r.number():
		return fmt.Sprintf("%s is not %s", quote(string(l.text)), kindNames[r.kind])
	case l.number() && r.kind == kindText:
		return fmt.Sprintf("%s is not %s", quote(string(r.text)), kindNames[l.kind])
	case l.kind == kindText && r.kind == kindText:
		return fmt.Sprintf("%s and %s are not both numbers", quote(string(l.text)), quote(string(r.text)))
	}
	return "a boolean on the left cannot be compared with a text"
}

func (r *reading) fail(n *node, left, right value) Result {
	r.failed = failure{n, left, right}
	return Failed
}

// value gives what a node stands for.
func (r *reading) value(n *node) value {
	switch n.op {
	case opConstant:
		return n.constant
	case opProperty:
		if b := r.values[n.slot]; b != nil {
			return textValue(b)
		}
		return value{}
	case opNegate:
		return r.value(n.left).negated()
	}
	switch r.test(n) {
	case True:
		return booleanValue(true)
	case False:
		return booleanValue(false)
	case Failed:
		return value{kind: kindFailed}
	}
	return value{}
}

// test gives the result of a node that is a condition.
func (r *reading) test(n *node) Result {
	if n.direct {
		return r.direct(n)
	}
	switch n.op {
	case opEqual:
		return r.equal(n)
	case opUnequal:
		return not(r.equal(n))
	case opLess, opLessEqual, opGreater, opGreaterEqual:
		left := r.value(n.left)
		if left.kind == kindNull {
			return Null // the right side is not looked at
		}
		return r.order(n, n.op, left, n.right)
	case opAnd:
		return r.list(n, True, False)
	case opOr:
		return r.list(n, False, True)
	case opNot:
		return not(r.test(n.left))
	case opIn, opNotIn:
		b := r.values[n.left.slot]
		if b == nil {
			return Null
		}
		return truth(n.in.has(b) == (n.op == opIn))
	case opCast:
		if r.values[n.left.slot] == nil {
			return Null
		}
		return False // a text is not true
	case opIsNull, opIsNotNull:
		left := r.value(n.left)
		if left.kind == kindFailed {
			return Failed
		}
		return truth((left.kind == kindNull) == (n.op == opIsNull))
	case opBetween, opNotBetween:
		return r.between(n)
	case opConstant:
		if n.constant.kind == kindNull {
			return Null
		}
		return truth(n.constant.boolean())
	}
	return r.find(n)
}

func truth(b bool) Result {
	if b {
		return True
	}
	return False
}

func not(r Result) Result {
	switch r {
	case True:
		return False
	case False:
		return True
	}
	return r
}

// list gives the result of AND or OR: that of the first operand that decides, else Null when one is, else other.
func (r *reading) list(n *node, other, decides Result) Result {
	result := other
	for _, o := range n.operands {
		switch got := r.test(o); got {
		case decides, Failed:
			return got
		case Null:
			result = Null
		}
	}
	return result
}

// direct compares a property with a number or a text, which is most of what filters do.
func (r *reading) direct(n *node) Result {
	b := r.values[n.left.slot]
	if b == nil {
		return Null
	}
	order, ok := 0, true
	switch c := &n.right.constant; c.kind {
	case kindText:
		return truth(bytes.Equal(b, c.text) == (n.op == opEqual))
	case kindFloat:
		var f float64
		f, ok = parseFloat(b)
		order = compareFloats(f, c.float())
	case kindInt32, kindInt64:
		largest := uint64(math.MaxInt32)
		if c.kind == kindInt64 {
			largest = math.MaxInt64
		}
		var i int64
		i, ok = parseInteger(b, largest)
		order = cmp.Compare(i, c.integer())
	}
	if !ok {
		return r.fail(n, textValue(b), n.right.constant)
	}
	return fits(n.op, order)
}

// fits tells whether an operator holds for what a comparison gave.
func fits(o op, order int) Result {
	switch o {
	case opEqual:
		return truth(order == 0)
	case opUnequal:
		return truth(order != 0)
	case opLess:
		return truth(order < 0)
	case opLessEqual:
		return truth(order <= 0)
	case opGreater:
		return truth(order > 0)
	}
	return truth(order >= 0)
}

// equal gives Null when only the left side is null, but False when only the right side is.
func (r *reading) equal(n *node) Result {
	left := r.value(n.left)
	if left.kind == kindFailed {
		return Failed
	}
	right := r.value(n.right)
	switch {
	case right.kind == kindFailed:
		return Failed
	case left.kind == kindNull && right.kind == kindNull:
		return True
	case left.kind == kindNull:
		return Null
	case right.kind == kindNull:
		return False
	case left.kind == kindText && right.kind == kindText:
		return truth(bytes.Equal(left.text, right.text))
	}
	order, comparable, ok := compare(left, right)
	if !ok {
		return r.fail(n, left, right)
	}
	return truth(comparable && order == 0)
}

// order compares a value that is not null with the value of right.
func (r *reading) order(n *node, o op, left value, right *node) Result {
	if left.kind == kindFailed {
		return Failed
	}
	rv := r.value(right)
	switch rv.kind {
	case kindNull:
		return Null
	case kindFailed:
		return Failed
	}
	order, ok := orderOf(left, rv)
	if !ok {
		return r.fail(n, left, rv)
	}
	return fits(o, order)
}

// orderOf is compare for <, <=, > and >=, where two texts are numbers.
func orderOf(l, r value) (order int, ok bool) {
	if l.kind == kindText && r.kind == kindText {
		lf, lok := parseFloat(l.text)
		rf, rok := parseFloat(r.text)
		return compareFloats(lf, rf), lok && rok
	}
	order, _, ok = compare(l, r)
	return order, ok
}

// between is left >= lowest AND left <= highest, or left < lowest OR left > highest.
func (r *reading) between(n *node) Result {
	first, second, other, decides := opGreaterEqual, opLessEqual, True, False
	if n.op == opNotBetween {
		first, second, other, decides = opLess, opGreater, False, True
	}
	left := r.value(n.left)
	if left.kind == kindNull {
		return Null
	}
	low := r.order(n, first, left, n.operands[0])
	if low == decides || low == Failed {
		return low
	}
	high := r.order(n, second, left, n.operands[1])
	if high == decides || high == Failed {
		return high
	}
	if low == Null || high == Null {
		return Null
	}
	return other
}

// find looks for a text within another. What is no text contains nothing, and does not not contain it either; nor does
// anything contain the empty text.
func (r *reading) find(n *node) Result {
	sought := n.constant.text
	if len(sought) == 0 {
		return False // without a look at the left side
	}
	left := r.value(n.left)
	switch left.kind {
	case kindFailed:
		return Failed
	case kindText:
	default:
		return False
	}
	switch n.op {
	case opContains:
		return truth(bytes.Contains(left.text, sought))
	case opNotContains:
		return truth(!bytes.Contains(left.text, sought))
	case opStartsWith:
		return truth(bytes.HasPrefix(left.text, sought))
	case opNotStartsWith:
		return truth(!bytes.HasPrefix(left.text, sought))
	case opEndsWith:
		return truth(bytes.HasSuffix(left.text, sought))
	}
	return truth(!bytes.HasSuffix(left.text, sought))
}
