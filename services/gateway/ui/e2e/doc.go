// Package e2e tests the web pages in a browser, against the single-process server with documents that went through the
// whole pipeline. It is a module of its own, so that the browser's driver is no requirement of the gateway.
package e2e
