/**
 * The frame of every page: its head, its one style, and what it lets a browser do.
 *
 * A page needs nothing from outside and nothing that runs: the policy allows its own style by
 * its hash, its own form, and nothing else. The address of a page may hold a secret, so it is
 * told to no other site; to our own it must be, or a form would come without its `Origin`.
 */
import { createHash } from 'node:crypto'
import { html, Markup } from '../mail/markup.js'
import { STYLE } from './style.js'

export interface Page {
  readonly status: number
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

const styleHash = createHash('sha256').update(STYLE).digest('base64')

const headers = {
  'Content-Security-Policy':
    `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; ` +
    `frame-ancestors 'none'; base-uri 'none'`,
  'Referrer-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
}

export function renderPage(status: number, title: string, body: Markup): Page {
  const whole = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
${body}
</body>
</html>
`
  return { status, html: whole.text, headers }
}

/** For whoever only needs to read a sentence. */
export function renderNotePage(status: number, title: string, sentence: string): Page {
  return renderPage(
    status,
    title,
    html`<main class="note">
<h1>${title}</h1>
<p>${sentence}</p>
</main>`,
  )
}
