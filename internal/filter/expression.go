// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"fmt"
	"strings"
	"sync"

	"github.com/goddard-mq/goddard/internal/message"
)

// Result of an expression on a message. Only True matches.
type Result uint8

// Results. The zero value is False.
const (
	False  Result = iota
	True          //
	Null          // a property is missing
	Failed        // a value cannot be compared as the expression wants
)

var resultNames = [...]string{"FALSE", "TRUE", "NULL", "FAILED"}

// String gives the name in capitals.
func (r Result) String() string { return resultNames[r] }

// Expr is a compiled SQL92 expression. It never changes; its methods may be called at the same time.
type Expr struct {
	source  string
	read    int // how much of source is the expression
	root    *node
	names   []string          // of the properties, without doubles
	indexes map[string]uint16 // of names, when there are many
}

// fewNames is up to where properties are told apart by comparing each with each, and kept on the stack.
const fewNames = 8

// Compile reads an SQL92 expression. The error is a *SyntaxError. What follows a complete expression is not read, as in
// RocketMQ: see Unread.
func Compile(source string) (*Expr, error) {
	if len(source) > MaxLength {
		return nil, newSyntaxError(source[:MaxLength], MaxLength, MaxLength, fmt.Sprintf("at most %d bytes", MaxLength), "")
	}
	p := parser{lexer: lexer{source: source}, slots: map[string]uint16{}}
	root, read, err := p.parse()
	if err != nil {
		return nil, err
	}
	e := &Expr{source: source, read: read, root: root, names: p.names}
	if len(e.names) > fewNames {
		e.indexes = p.slots
	}
	return e, nil
}

// Source gives the text that was compiled.
func (e *Expr) Source() string { return e.source }

// Unread gives the part of the text that follows the complete expression and has no effect; most likely it was meant to
// have one.
func (e *Expr) Unread() string { return e.source[e.read:] }

// String gives the expression with all parentheses, as it was understood. It compiles to the same.
func (e *Expr) String() string { return e.print(e.root) }

func (e *Expr) print(n *node) string {
	var b strings.Builder
	n.print(&b, e.names)
	return b.String()
}

// Match tells whether a message with this text of properties matches.
func (e *Expr) Match(properties []byte) bool { return e.Test(properties) == True }

// Test gives the result on a text of properties. It takes no memory for expressions with few properties.
func (e *Expr) Test(properties []byte) Result {
	var few [fewNames][]byte
	if len(e.names) <= fewNames {
		r := reading{values: few[:len(e.names)]}
		message.FindProperties(properties, e.names, r.values)
		return r.test(e.root)
	}
	many := manyValues.Get().(*[][]byte)
	r := reading{values: e.findMany(properties, *many)}
	result := r.test(e.root)
	clear(r.values)
	*many = r.values
	manyValues.Put(many)
	return result
}

var manyValues = sync.Pool{New: func() any { return new([][]byte) }}

// findMany looks properties up by hash; the values are put in dst if there is room.
func (e *Expr) findMany(properties []byte, dst [][]byte) [][]byte {
	if cap(dst) < len(e.names) {
		dst = make([][]byte, len(e.names))
	}
	dst = dst[:len(e.names)]
	message.EachProperty(properties, func(name, value []byte) bool {
		if i, ok := e.indexes[string(name)]; ok {
			dst[i] = value
		}
		return true
	})
	return dst
}

// Explain gives the result on a text of properties, and why it is Failed, as an *EvalError.
func (e *Expr) Explain(properties []byte) (Result, error) {
	return e.Eval(func(name string) (string, bool) {
		value, ok := message.FindProperty(properties, name)
		return string(value), ok
	})
}

// Eval gives the result on properties that are looked up by name. The error, an *EvalError, tells why it is Failed.
func (e *Expr) Eval(lookup func(name string) (value string, ok bool)) (Result, error) {
	r := reading{values: make([][]byte, len(e.names))}
	for i, name := range e.names {
		if value, ok := lookup(name); ok {
			r.values[i] = append([]byte{}, value...)
		}
	}
	result := r.test(e.root)
	if result == Failed {
		return result, &EvalError{Part: e.print(r.failed.node), Reason: r.failed.reason()}
	}
	return result, nil
}
