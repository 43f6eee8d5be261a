// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package remoting is how commands travel: frames on a connection, both ways.
//
// A frame is a length, a header (JSON or compact) and a body. A command is what
// a frame carries: a request or the answer to one, matched by its opaque number.
// A Conn asks and is asked, so server and client share one type. The package
// knows no request code; package protocol gives commands their meaning.
//
// RocketMQ calls the same thing remoting: RemotingCommand, NettyDecoder,
// NettyRemotingServer, NettyRemotingClient.
package remoting
