// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// outputFormat is the flag --output.
type outputFormat struct {
	value   string
	allowed []string
}

func (o *outputFormat) addTo(cmd *cobra.Command, allowed ...string) {
	o.value, o.allowed = allowed[0], allowed
	cmd.Flags().VarP(o, "output", "o", "how to print: "+strings.Join(allowed, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

func (o *outputFormat) Type() string   { return strings.Join(o.allowed, "|") }
func (o *outputFormat) String() string { return o.value }
func (o *outputFormat) Set(text string) error {
	if !slices.Contains(o.allowed, text) {
		return fmt.Errorf("want %s", strings.Join(o.allowed, " or "))
	}
	o.value = text
	return nil
}

// printJSON writes v as one line.
func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// table writes rows in columns; nothing when there are no rows.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer) error {
	if len(t.rows) == 0 {
		return nil
	}
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.head}, t.rows...) {
		if _, err := fmt.Fprintln(columns, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return columns.Flush()
}
