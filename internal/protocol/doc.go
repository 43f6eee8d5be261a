// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package protocol is what commands mean: request and response codes, the fields
// of each request's header, the JSON of each body, names and their rules. It opens
// no socket. One file per family of requests: send.go, pull.go, topic.go and so on.
//
// RocketMQ: RequestCode, ResponseCode, the classes below protocol/header and
// protocol/body.
package protocol
