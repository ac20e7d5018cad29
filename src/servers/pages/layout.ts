/**
 * The frame of every page: head, style, and the headers that restrict the browser.
 *
 * A page loads nothing and runs no script, but for one of our own files that it names: the Content-Security-Policy allows its
 * style by hash, its own form, that script, and nothing else. The URL of a page may contain a secret, so the referrer policy hides it from other sites. Our own site
 * must get it, or a form would be sent without `Origin`.
 */
import { createHash } from 'node:crypto'
import type { Language } from '../../base/mail/language.js'
import { html, Markup } from '../../base/mail/markup.js'
import { STYLE } from './style.js'

export interface Page {
  readonly status: number
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

const styleHash = createHash('sha256').update(STYLE).digest('base64')

const policy =
  `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; ` +
  `frame-ancestors 'none'; base-uri 'none'`

const headers = {
  'Content-Security-Policy': policy,
  'Referrer-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
}

const headersWithScript = { ...headers, 'Content-Security-Policy': `${policy}; script-src 'self'` }

interface PageOptions {
  readonly language?: Language
  /** The path of a script that runs before the first paint, relative to the page. Null if there is none. */
  readonly script?: string | null
}

export function renderPage(
  status: number,
  title: string,
  body: Markup,
  { language = 'en', script = null }: PageOptions = {},
): Page {
  const page = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
${script === null ? null : html`<script src="${script}"></script>`}
<style>${new Markup(STYLE)}</style>
</head>
<body>
${body}
</body>
</html>
`
  return { status, html: page.text, headers: script === null ? headers : headersWithScript }
}

/** A page with one sentence. */
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
