// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"crypto/tls"
	"log/slog"
	"time"
)

// Config of connections, both sides. A zero value of a bound means its default.
type Config struct {
	// MaxFrameBytes bounds a frame, its length word included. Java peers drop the
	// connection above 16 MiB, so more serves only peers of our own
	// (com.rocketmq.remoting.frameMaxLength).
	MaxFrameBytes int
	// IdleTimeout closes a connection on which nothing travelled in either direction
	// for so long. Below two heartbeats (60 s) it cuts healthy clients off.
	IdleTimeout time.Duration
	// StallTimeout closes a connection whose peer took nothing of what waits for it
	// for so long.
	StallTimeout time.Duration
	// OutgoingLimit is how many bytes may wait for a slow peer before its requests
	// are no longer read. Answers to requests already read come on top.
	OutgoingLimit int

	// Version is the MQVersion ordinal written into our commands. Clients choose
	// what they may ask by it.
	Version int32
	// Language written into our commands: LanguageJava for servers, whose clients
	// check nothing but were tested with nothing else; LanguageGo for our clients.
	Language Language
	// Serializer of requests we start. On accepted connections the form that the
	// peer used last comes first: some clients do not understand Binary.
	Serializer Serializer

	// TLS: nil is plain. A server with TLS takes both, told apart by the first byte
	// (RocketMQ: tls.server.mode=permissive), a client only TLS.
	TLS *tls.Config
	// RequireTLS makes a server with TLS close plain connections
	// (tls.server.mode=enforcing).
	RequireTLS bool
	// DialTimeout bounds how long a client waits for a connection.
	DialTimeout time.Duration

	// Logger gets a line per connection that misbehaved; nil discards them.
	Logger *slog.Logger

	// Loops is how many goroutines of a server read for all its plain TCP connections,
	// which spares a goroutine for each and commits the work of many at once. 0: each
	// connection has its own, as where this can not be had (Linux has it).
	Loops int
	// LoopsFrom is how many connections a server has before further ones come on
	// loops: a few are served fastest by goroutines of their own.
	LoopsFrom int

	// AfterBatch, when set, is called by a connection's reader each time it has
	// handled all complete frames it had read, before it waits for more: work
	// gathered by inline handlers (appends) is committed there.
	AfterBatch func()
	// ConnOpened, ConnClosed tell of connections; Closed gets the reason (nil: peer
	// closed). Both run on goroutines of the connection and must not wait for it.
	ConnOpened func(*Conn)
	ConnClosed func(*Conn, error)
}

// DefaultConfig is what RocketMQ does by default, as release 5.5.0.
func DefaultConfig() Config {
	return Config{
		MaxFrameBytes: 16 << 20,
		IdleTimeout:   120 * time.Second,
		StallTimeout:  60 * time.Second,
		OutgoingLimit: 8 << 20,
		Version:       513,
		Language:      LanguageJava,
		Serializer:    JSON,
		DialTimeout:   3 * time.Second,
	}
}

// withDefaults fills in what was left zero.
func (c Config) withDefaults() *Config {
	d := DefaultConfig()
	if c.MaxFrameBytes <= 0 {
		c.MaxFrameBytes = d.MaxFrameBytes
	}
	if c.IdleTimeout <= 0 {
		c.IdleTimeout = d.IdleTimeout
	}
	if c.StallTimeout <= 0 {
		c.StallTimeout = d.StallTimeout
	}
	if c.OutgoingLimit <= 0 {
		c.OutgoingLimit = d.OutgoingLimit
	}
	if c.DialTimeout <= 0 {
		c.DialTimeout = d.DialTimeout
	}
	if c.Version == 0 {
		c.Version = d.Version
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &c
}

// hardLimit is where a connection is given up: no sum of answers to requests
// already read should reach it.
func (c *Config) hardLimit() int { return c.OutgoingLimit + 4*c.MaxFrameBytes }
