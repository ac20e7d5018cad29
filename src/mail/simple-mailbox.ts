/**
 * The forms that nearly every address field has: `user@host.example`, `<user@host.example>`
 * and `Some Name <user@host.example>`, in plain ASCII without quotes, comments or encoded
 * words. Everybody reads them alike, so they skip the parser that knows all the others.
 *
 * A shortcut: what it gives is what `mailboxes` gives, and null says nothing.
 */
import { type Address, tryParseAddress } from './address.js'

const simpleForm =
  /^(?:(?:([\w!#$%&'*+-]+(?: [\w!#$%&'*+-]+)*) )?<([\w.!#$%&'*+/-]+@[\w.-]+)>|([\w.!#$%&'*+/-]+@[\w.-]+))$/

export function parseSimpleMailbox(value: string): { readonly address: Address; readonly name: string } | null {
  if (value.length > 320) return null
  const [, name = '', inBrackets, alone = ''] = simpleForm.exec(value) ?? []
  const address = tryParseAddress(inBrackets ?? alone)
  return address === null ? null : { address, name }
}
