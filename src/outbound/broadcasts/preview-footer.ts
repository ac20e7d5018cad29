/** Adds to the bodies of a draft the footers that its messages will have, for a preview. Pure. */
import type { MailFooter } from '../../workspaces/accounts/workspace/mail-footer.js'
import { UNSUBSCRIBE_URL } from '../../workspaces/content/template-text.js'
import { buildHtmlFooter, buildTextFooter } from './unsubscribe-footer.js'

interface Bodies {
  readonly html: string | null
  readonly text: string | null
}

const VARIABLE = `{{${UNSUBSCRIBE_URL}}}`

/** A body that has a link to unsubscribe stays as it is, and so does one that is empty. */
export function addFooters({ html, text }: Bodies, given: MailFooter): Bodies {
  return {
    html: lacksLink(html) ? insertAtEnd(html, buildHtmlFooter(VARIABLE, given)) : html,
    text: lacksLink(text) ? text + buildTextFooter(VARIABLE, given) : text,
  }
}

function lacksLink(body: string | null): body is string {
  return body !== null && body !== '' && !body.includes(UNSUBSCRIBE_URL)
}

function insertAtEnd(html: string, footer: string): string {
  const end = html.toLowerCase().lastIndexOf('</body')
  return end === -1 ? html + footer : html.slice(0, end) + footer + html.slice(end)
}
