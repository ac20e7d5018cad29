/** Adds to the rendered bodies of a draft the footers that its messages will have, for a preview. Pure. */
import type { MailFooter } from '../../workspaces/accounts/workspace/mail-footer.js'
import { UNSUBSCRIBE_URL } from '../../workspaces/content/template-text.js'
import { buildHtmlFooter, buildTextFooter } from './unsubscribe-footer.js'

interface Bodies {
  readonly html: string | null
  readonly text: string | null
}

interface Footers {
  /** The bodies before their variables were filled. One that has a link to unsubscribe gets no footer, nor does an empty one. */
  readonly sources: Bodies
  readonly url: string
  readonly footer: MailFooter
}

export function addFooters({ html, text }: Bodies, { sources, url, footer }: Footers): Bodies {
  return {
    html: html !== null && lacksLink(sources.html) ? insertAtEnd(html, buildHtmlFooter(url, footer)) : html,
    text: text !== null && lacksLink(sources.text) ? text + buildTextFooter(url, footer) : text,
  }
}

function lacksLink(body: string | null): boolean {
  return body !== null && body !== '' && !body.includes(UNSUBSCRIBE_URL)
}

function insertAtEnd(html: string, footer: string): string {
  const end = html.toLowerCase().lastIndexOf('</body')
  return end === -1 ? html + footer : html.slice(0, end) + footer + html.slice(end)
}
