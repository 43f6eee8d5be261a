// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/route"
)

// Config of an Admin.
type Config struct {
	// NameServers of the cluster, in any form that route.ParseAddresses reads.
	NameServers []string
	// Timeout of one question to one server. 0 means 5 s.
	Timeout time.Duration
	Logger  *slog.Logger // nil: discards
	TLS     *tls.Config  // nil: plain
	Dial    func(ctx context.Context, addr string) (net.Conn, error)
}

const defaultTimeout = 5 * time.Second

// Admin asks and changes a cluster. It may be used by many goroutines.
type Admin struct {
	timeout time.Duration
	conns   *remoting.Client
	servers *route.NameServers
}

// New makes an Admin; no server is asked yet. The error names an address that is none.
func New(cfg Config) (*Admin, error) {
	addrs, err := route.ParseAddresses(cfg.NameServers...)
	if err != nil {
		return nil, err
	}
	wire := remoting.DefaultConfig()
	wire.Language = remoting.LanguageGo
	wire.TLS = cfg.TLS
	wire.Logger = cfg.Logger
	a := &Admin{timeout: cfg.Timeout, conns: remoting.NewClient(nil, cfg.Dial, wire)}
	if a.timeout <= 0 {
		a.timeout = defaultTimeout
	}
	a.servers = route.NewNameServers(addrs, a.conns, a.timeout)
	return a, nil
}

// Close closes the connections. Calls that wait for answers fail.
func (a *Admin) Close() error { return a.conns.Close() }

// ask asks one server, which must answer SUCCESS; any other answer is a *protocol.Error.
func (a *Admin) ask(ctx context.Context, addr string, req *remoting.Command) (*remoting.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	return successOf(a.conns.Call(ctx, addr, req))
}

// askNameServer asks whichever name server answers.
func (a *Admin) askNameServer(ctx context.Context, req *remoting.Command) (*remoting.Command, error) {
	return successOf(a.servers.Call(ctx, req))
}

func successOf(resp *remoting.Command, err error) (*remoting.Command, error) {
	if err != nil {
		return nil, err
	}
	if resp.Code != protocol.Success {
		return nil, &protocol.Error{Code: resp.Code, Remark: resp.Remark}
	}
	return resp, nil
}

// read makes a T of an answer's body.
func read[T any](resp *remoting.Command, what string) (*T, error) {
	body := new(T)
	if err := javajson.Unmarshal(resp.Body, body); err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return body, nil
}

// isCode tells whether err is a server's answer with that code.
func isCode(err error, code int32) bool { return err != nil && protocol.CodeOf(err) == code }
