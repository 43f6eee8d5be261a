// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import (
	"errors"
	"fmt"
)

// Error is the error a peer sees: the same type on server and client. Code is a response code,
// Remark the text that travels with it.
type Error struct {
	Code   int32
	Remark string
}

var _ error = (*Error)(nil)

// Error gives the code's name and number and the remark.
func (e *Error) Error() string {
	if e.Remark == "" {
		return fmt.Sprintf("%s (%d)", ResponseName(e.Code), e.Code)
	}
	return fmt.Sprintf("%s (%d): %s", ResponseName(e.Code), e.Code, e.Remark)
}

// Errorf makes an Error of a code and a formatted remark.
func Errorf(code int32, format string, a ...any) *Error {
	return &Error{Code: code, Remark: fmt.Sprintf(format, a...)}
}

// CodeOf gives the response code inside err: Success for nil, SystemError when err carries none.
func CodeOf(err error) int32 {
	if err == nil {
		return Success
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return SystemError
}
