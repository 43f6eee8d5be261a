// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"context"
	"errors"
	"testing"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// wire is one connection to a server, as clients have it.
type wire struct {
	t    testing.TB
	c    *remoting.Conn
	news chan *remoting.Command // requests of the server's own
}

// ServeCommand takes a request of the server. None of those that come here wants an answer.
func (w *wire) ServeCommand(x *remoting.Exchange) {
	select {
	case w.news <- x.Request.Clone():
	default: // nobody looks
	}
}

// form of headers a connection sends.
type form = remoting.Serializer

// dial opens a connection of its own, closed when the test ends.
func dial(t testing.TB, addr string) *wire {
	t.Helper()
	return dialForm(t, addr, remoting.JSON)
}

func dialForm(t testing.TB, addr string, f form) *wire {
	t.Helper()
	w, err := tryDial(t, addr, f)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func tryDial(t testing.TB, addr string, f form) (*wire, error) {
	w := &wire{t: t, news: make(chan *remoting.Command, 1024)}
	cfg := remoting.DefaultConfig()
	cfg.Serializer, cfg.Language = f, remoting.LanguageGo
	client := remoting.NewClient(w, nil, cfg)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	if w.c, err = client.Conn(ctx, addr); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	t.Cleanup(func() { _ = client.Close() })
	return w, nil
}

// ask sends a request and waits for its answer.
func (w *wire) ask(req *remoting.Command) (*remoting.Command, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return w.c.Call(ctx, req)
}

// call is ask where no answer fails the test. h is a header.Encoder, a tagged struct or nil.
func (w *wire) call(code int32, h any, body []byte) *remoting.Command {
	w.t.Helper()
	answer, err := w.ask(request(code, h, body))
	if err != nil {
		w.t.Fatalf("request %d: %v", code, err)
	}
	return answer
}

// must is call where an answer other than success fails the test.
func (w *wire) must(code int32, h any, body []byte) *remoting.Command {
	w.t.Helper()
	answer := w.call(code, h, body)
	if answer.Code != 0 {
		w.t.Fatalf("request %d: answered %d: %s", code, answer.Code, answer.Remark)
	}
	return answer
}

func request(code int32, h any, body []byte) *remoting.Command {
	req := &remoting.Command{Code: code, Body: body}
	switch h := h.(type) {
	case nil:
	case header.Encoder:
		req.Header = h
	default:
		req.Header = header.Of(h)
	}
	return req
}

// close closes the connection for good.
func (w *wire) close() {
	_ = w.c.Close()
	<-w.c.Done()
}
