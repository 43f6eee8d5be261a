// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import "slices"

// Filter tells which messages of a topic are wanted, by the hash of their tags or by an expression. It is what a store
// asks when it reads. The zero value wants none; copies share what they point to and change nothing of it.
type Filter struct {
	all   bool
	codes []int32
	expr  *Expr
}

// All wants every message.
func All() Filter { return Filter{all: true} }

// Tags wants messages whose tags have one of the hashes (message.HashString); two tags of one hash are not told apart,
// clients do that. The slice must not change afterwards.
func Tags(codes []int32) Filter { return Filter{codes: codes} }

// SQL wants messages whose properties match the expression.
func SQL(e *Expr) Filter { return Filter{expr: e} }

// WantsAll tells whether nothing need be asked.
func (f *Filter) WantsAll() bool { return f.all }

// Expr gives the expression, nil when messages are told apart by tags.
func (f *Filter) Expr() *Expr { return f.expr }

// MatchTags tells whether a message with that code of tags may be wanted, as far as the code tells. Codes of 64 bits, as
// the queue of delayed messages has them, are cut as RocketMQ cuts them.
func (f *Filter) MatchTags(code int64) bool {
	return f.all || f.expr != nil || slices.Contains(f.codes, int32(code))
}

// MatchProperties tells whether a message that MatchTags let pass is wanted.
func (f *Filter) MatchProperties(properties []byte) bool {
	return f.expr == nil || f.expr.Match(properties)
}

// NeedsProperties tells whether MatchProperties has to be asked.
func (f *Filter) NeedsProperties() bool { return f.expr != nil }
