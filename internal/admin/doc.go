// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package admin asks and changes a whole cluster, as Go calls; the command line and
// the console sit on it.
//
// A change goes to every master it concerns, each of them is tried, and when not all
// took it the error says which did and which did not. A question that no broker
// answered is an error, never an empty answer.
//
// A target is the part of a cluster that a call is about: a cluster, or one broker
// (RocketMQ: DefaultMQAdminExt, of which mqadmin is made).
package admin
