// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package filter is tag and SQL92 expressions: which messages of a topic a group is
// given.
//
// Tags are compared by hash, as consume queues have them. An SQL92 expression, such
// as "price > 3 AND region = 'eu'", is compiled once and evaluated on the text of a
// message's properties, which are strings or missing.
//
// A filter is what the broker asks of each message. An expression has one of four
// results: true, false, null where a property is missing, and failed where a value
// cannot be compared as the expression wants. Only true matches.
//
// Grammar and results are RocketMQ's to the letter, oddities included: NOT binds
// tighter than "=", text after a complete expression is not read, and "a = 3" fails
// on "3.0". What RocketMQ leaves open is bounded: length, depth, kept expressions.
//
// RocketMQ: module filter (SqlFilter, SelectorParser, ComparisonExpression) and
// ExpressionMessageFilter.
package filter
