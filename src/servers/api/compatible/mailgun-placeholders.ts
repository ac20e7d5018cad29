/**
 * The placeholders of Mailgun: `%recipient.name%` stands for a value of one recipient, and `%unsubscribe_url%` and its
 * kin for a link by which recipients unsubscribe.
 *
 * A placeholder without a value stays as it is, as it does there.
 */

import type { NamedAddress } from '../../../base/mail/named-address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { checkSize } from '../../../outbound/sending/composed-size.js'
import { UNSUBSCRIBE_URL } from '../../../workspaces/content/template-text.js'

/** A recipient, and the values for it. */
export interface Person {
  readonly mailbox: NamedAddress
  readonly values: ReadonlyMap<string, string>
}

const place = /%recipient(?:\.([^%\r\n]{1,200})|_(email|name|fname|lname))?%/g

/** Places of one text, as in a template. */
const MAX_PLACES = 5_000

interface Place {
  /** The text as it is written. */
  readonly written: string
  /** Null for what is known of every recipient. */
  readonly name: string | null
}

/** A text with placeholders, which is searched once and filled for many recipients. */
export class PersonalText {
  private readonly pieces: readonly (string | Place)[]

  /** Throws a Refusal for more than `MAX_PLACES` placeholders. */
  constructor(readonly written: string) {
    const pieces: (string | Place)[] = []
    let end = 0
    for (const { 0: found, 1: name = null, index } of written.matchAll(place)) {
      if (pieces.length >= 2 * MAX_PLACES) throw tooManyRefusal()
      pieces.push(written.slice(end, index), { written: found, name })
      end = index + found.length
    }
    this.pieces = [...pieces, written.slice(end)]
  }

  get placeCount(): number {
    return (this.pieces.length - 1) / 2
  }

  /** Throws a Refusal `too-large` before it builds a text that no message may have. */
  fill(person: Person): string {
    const filled = this.pieces.map((piece) => (typeof piece === 'string' ? piece : findValue(piece, person)))
    checkSize(filled.reduce((sum, { length }) => sum + length, 0))
    return filled.join('')
  }
}

/** Placeholders in all fields of a request, and in all emails that it stands for. */
const MAX_OF_REQUEST = 20_000
const MAX_OF_EMAILS = 1_000_000

/** Fields with placeholders. Throws a Refusal before their number costs time. */
export function toPersonalFields(fields: readonly (readonly [string, string])[]): [string, PersonalText][] {
  let places = 0
  return fields.map(([name, value]) => {
    const text = new PersonalText(value)
    places += text.placeCount
    if (places > MAX_OF_REQUEST) throw tooManyOfRequestRefusal()
    return [name, text]
  })
}

/** Throws a Refusal if filling these fields for all recipients would cost too much time. */
export function requireFewPlaces(texts: readonly PersonalText[], recipients: number): void {
  const places = texts.reduce((sum, { placeCount }) => sum + placeCount, 0)
  if (places > MAX_OF_REQUEST || places * recipients > MAX_OF_EMAILS) throw tooManyOfRequestRefusal()
}

function tooManyOfRequestRefusal(): Refusal {
  const message = `the request has more than ${MAX_OF_REQUEST} placeholders, or ${MAX_OF_EMAILS} for all recipients: leave some out`
  return new Refusal('invalid-parameter', message, { limit: MAX_OF_REQUEST })
}

function tooManyRefusal(): Refusal {
  const message = `a text has more than ${MAX_PLACES} placeholders %recipient.name%: leave some out`
  return new Refusal('invalid-parameter', message, { limit: MAX_PLACES })
}

function findValue({ written, name }: Place, { mailbox: { address, name: fullName }, values }: Person): string {
  if (name !== null) return values.get(name) ?? written
  const words = fullName.split(' ')
  const known: Readonly<Record<string, string>> = {
    '%recipient%': fullName === '' ? address : `${fullName} <${address}>`,
    '%recipient_email%': address,
    '%recipient_name%': fullName,
    '%recipient_fname%': words[0] ?? '',
    '%recipient_lname%': words.slice(1).join(' '),
  }
  return known[written] ?? written
}

/** Fills all texts within a value of JSON. */
export function fillTexts(value: unknown, person: Person): unknown {
  if (typeof value === 'string') return new PersonalText(value).fill(person)
  if (Array.isArray(value)) return value.map((item) => fillTexts(item, person))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fillTexts(item, person)]))
}

const link = /%(?:tag_|mailing_list_)?unsubscribe_(?:url|email)%/g

/**
 * The links become our own. An address to which readers write is left out, because there is a link for it. Throws a
 * Refusal for more than `MAX_PLACES` of them: to replace 400,000 takes 100 ms.
 */
export function replaceBodyLinks(body: string): string {
  let count = 0
  return body.replace(link, (written) => {
    count += 1
    if (count > MAX_PLACES) throw tooManyLinksRefusal()
    return written.endsWith('_url%') ? `{{${UNSUBSCRIBE_URL}}}` : ''
  })
}

function tooManyLinksRefusal(): Refusal {
  const message = `a text has more than ${MAX_PLACES} links to unsubscribe: leave some out`
  return new Refusal('invalid-parameter', message, { limit: MAX_PLACES })
}

/** The elements of a field List-Unsubscribe that the client wrote itself. Empty if there are none. */
export function removeFieldLinks(value: string): string {
  if (value.search(link) === -1) return value
  const elements = [...value.matchAll(/<[^<>]*>/g)].map(([element]) => element)
  return elements.filter((element) => element.search(link) === -1).join(', ')
}
