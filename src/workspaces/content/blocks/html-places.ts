/**
 * Keeps everything that a client wrote out of the MJML: each text, URL and piece of HTML becomes a word of letters and
 * digits, which no other text contains, and takes its place again in the compiled HTML. So MJML has only our structure.
 */
import { escapeHtml } from '../../../base/mail/markup.js'
import { randomSecret } from '../../../base/platform/ids.js'
import { mapLiterals } from '../template-text.js'

const SECRET_BYTES = 12

export class HtmlPlaces {
  private readonly prefix = `x${randomSecret(SECRET_BYTES).toString('hex')}n`
  private readonly pieces: string[] = []

  /** Returns the word for a piece of HTML. */
  keep(html: string): string {
    this.pieces.push(html)
    return `${this.prefix}${this.pieces.length - 1}e`
  }

  /** Replaces the words in one pass. */
  fill(html: string): string {
    const [first = '', ...others] = html.split(this.prefix)
    const filled = others.map((other) => {
      const end = other.indexOf('e')
      return `${this.pieces[Number(other.slice(0, end))] ?? ''}${other.slice(end + 1)}`
    })
    return [first, ...filled].join('')
  }
}

/**
 * Writes a text with variables as HTML, for elements and for attributes in double quotes. The braces that belong to
 * no variable are written as entities, so that they make none with what stands beside them.
 */
export function writeText(text: string): string {
  return mapLiterals(text, (literal) => escapeHtml(literal).replace(/\{/g, '&#123;').replace(/\}/g, '&#125;'))
}
