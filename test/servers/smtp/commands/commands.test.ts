/** Parsing MAIL and RCPT: tables, and random bytes. */
import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../../../src/base/mail/refusal.js'
import { parseMail } from '../../../../src/servers/smtp/commands/mail-command.js'
import { parsePathCommand } from '../../../../src/servers/smtp/commands/path-command.js'
import { parseRcpt } from '../../../../src/servers/smtp/commands/rcpt-command.js'
import { ProtocolFault } from '../../../../src/servers/smtp/session/smtp-reply.js'

t.test('commands with a path are taken apart', async (t) => {
  const parse = (line: string): unknown => {
    const { mailbox, ascii, parameters } = parsePathCommand(Buffer.from(line), 'MAIL FROM')
    return [mailbox, ascii, Object.fromEntries(parameters)]
  }
  t.same(parse('MAIL FROM:<>'), ['', true, {}])
  t.same(parse('mail from: <a@b>  SIZE=1   body=7BIT flag '), ['a@b', true, { SIZE: '1', BODY: '7BIT', FLAG: null }])
  t.same(parse('MAIL FROM:<"a\\">b c"@b> X=a=b'), ['"a\\">b c"@b', true, { X: 'a=b' }])
  t.same(parse('MAIL FROM:<@x,@y:a@b>'), ['a@b', true, {}])
  t.same(parse('MAIL FROM:<ä@b>'), ['ä@b', false, {}])
})

t.test('no bytes make the parsers throw anything but a fault of the client', async (t) => {
  const grammar = [
    'MAIL FROM:',
    'RCPT TO:',
    '<',
    '>',
    '"',
    '\\',
    '@',
    'a',
    'ä',
    ' ',
    '=',
    ';',
    'SIZE',
    'ORCPT=rfc822;',
    '+2B',
    '\0',
  ]
  const lines = fc.oneof(
    fc
      .array(fc.constantFrom(...grammar), { maxLength: 12 })
      .map((words) => Buffer.from(`MAIL FROM:<a@b> ${words.join('')}`)),
    fc.array(fc.constantFrom(...grammar), { maxLength: 16 }).map((words) => Buffer.from(words.join(''))),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  )
  const isClientFault = (parse: () => unknown): boolean => {
    try {
      parse()
      return true
    } catch (error) {
      return error instanceof ProtocolFault || error instanceof Refusal
    }
  }
  fc.assert(
    fc.property(
      lines,
      fc.boolean(),
      (line, smtputf8) =>
        isClientFault(() => parseMail(line, { maxSize: 1000, isEncrypted: true })) &&
        isClientFault(() => parseRcpt(line, { hostname: 'mail.test', smtputf8 })),
    ),
  )
  t.pass()
})
