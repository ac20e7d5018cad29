/** Writes the footer of a body that has no unsubscribe link of its own. */
import { escapeHtml } from '../../base/mail/markup.js'

/** Readable in any colours of the message, because it has its own. */
export function buildHtmlFooter(url: string): string {
  const box = 'margin:24px 0 0;padding:16px;background-color:#ffffff;color:#444444;font:14px/1.5 Arial,sans-serif'
  const link = `<a href="${escapeHtml(url)}" style="color:#1a4fa0;text-decoration:underline">Unsubscribe</a>`
  return `<div style="${box};text-align:center">You get this email because you are subscribed. ${link}</div>`
}

export function buildTextFooter(url: string): string {
  return `\n\nYou get this email because you are subscribed. Unsubscribe:\n${url}\n`
}
