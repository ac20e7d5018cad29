/** Addresses, lists of them, names of domains, next hops and values of the SMTP envelope. */
import {
  type Address,
  formatForDisplay,
  tryParseAddress,
  tryParseDomainName,
  tryParseIncomingAddress,
} from '../../../../src/base/mail/address.js'
import {
  decodeXtext,
  encodeXtext,
  formatNotify,
  formatOrcpt,
  formatRet,
  parseNotify,
  parseRet,
  validateEnvid,
  validateOrcpt,
} from '../../../../src/base/mail/dsn-parameters.js'
import {
  findAuthor,
  isUnambiguous,
  parseAuthors,
  parseMailboxList,
  parseSimpleMailbox,
  truncateList,
} from '../../../../src/base/mail/mailbox-list.js'
import { isMessageId } from '../../../../src/base/mail/message-id.js'
import { tryParseNamedAddress, writeNamedAddress } from '../../../../src/base/mail/named-address.js'
import { parseRoute } from '../../../../src/base/mail/route.js'
import { composeMailboxes } from '../../../../src/outbound/sending/compose-header.js'
import { parsePlainMail } from '../../../../src/servers/smtp/commands/mail-command.js'
import { parsePlainRcpt, parseRcpt } from '../../../../src/servers/smtp/commands/rcpt-command.js'
import { ProtocolFault } from '../../../../src/servers/smtp/session/smtp-reply.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'
import { isRefusal } from './refusals.js'

const words = [
  '@',
  '"',
  '\\"',
  '<',
  '>',
  '(',
  ')',
  ',',
  ';',
  ':',
  '..',
  'xn--',
  '[',
  ']',
  '%',
  '=?utf-8?q?a?=',
  '.',
  'ä',
  '💌',
  '\\',
]
const seeds = [
  'bob@b.test',
  '"odd local"@b.test',
  'jürgen@münchen.test',
  'Bob <bob@b.test>',
  '"Bob, of B" <bob@b.test>, Ann <ann@xn--mnchen-3ya.test>',
  'team: bob@b.test, "A (B)" <a@b.test>;, (comment) c@d.test',
  '=?utf-8?q?B=C3=B6b?= <bob@b.test>',
  'a@[192.0.2.1]',
  'a.b+c@sub.b.test.',
]

function checkAddress(address: Address): void {
  checkEqual(tryParseAddress(address), address, 'an address parses as itself')
  check(!/[\r\n\0]/.test(address), 'an address has no line end')
  check(Buffer.byteLength(address) <= 254, 'an address has at most 254 octets')
}

/** Other servers have mailboxes that ours may not have: 240 octets of local part, and dots in any place. */
function checkIncomingAddress(address: Address): void {
  checkEqual(tryParseIncomingAddress(address), address, 'an address parses as itself')
  check(!/[\r\n\0]/.test(address), 'an address has no line end')
  check(Buffer.byteLength(address) <= 494, 'an address has at most 494 octets')
}

function parseAddresses(input: Buffer): void {
  const text = input.toString()
  const address = tryParseAddress(text)
  if (address !== null) checkAddress(address)
  const domain = tryParseDomainName(text)
  if (domain !== null) checkEqual(tryParseDomainName(domain), domain, 'a domain name parses as itself')
  check(formatForDisplay(text).length <= 100, 'a value for display has at most 100 characters')
  check(!/[\p{Cc}\p{Cs}]/u.test(formatForDisplay(text)), 'a value for display is printable')
  isMessageId(text)
  const named = tryParseNamedAddress(text)
  if (named === null) return
  checkAddress(named.address)
  checkEqual(
    tryParseNamedAddress(writeNamedAddress(named)),
    named,
    'a named address is written so that it parses as itself',
  )
  const header = composeMailboxes('To', [named])
  check(!/\r\n[^ \t]/.test(header.replace(/\r\n$/, '')), 'a name makes no second header field')
  check(!/[\0]|\r(?!\n)|(?<!\r)\n/.test(header), 'a header field has no bare line end')
}

function parseLists(input: Buffer): void {
  const text = truncateList(input.toString()).replace(/[\r\n]+/g, ' ')
  const list = parseMailboxList(text)
  for (const { address, name } of list) {
    if (address !== null) checkIncomingAddress(address)
    check(!/[\p{Cc}]/u.test(name), 'a name has no control characters')
  }
  const author = findAuthor(parseAuthors(text))
  check(author === null || /^[^\p{Cc}]+@[^\s\p{C}<>@]+$/u.test(author.address), 'an author has an address')
  check(author !== null || list.every(({ address }) => address === null), 'an address makes an author')
  const simple = parseSimpleMailbox(text)
  if (simple !== null) check(isUnambiguous(text), 'a simple mailbox is unambiguous')
  // What is unambiguous has no more addresses than at signs outside of quotes.
  if (isUnambiguous(text))
    check(list.length <= text.split('@').length + text.split(/[,;]/).length, 'a list has no more mailboxes than parts')
}

function parseParameters(input: Buffer): void {
  const text = input.toString('latin1')
  const parsers: readonly (() => void)[] = [
    () => checkEqual(parseNotify(formatNotify(parseNotify(text))), parseNotify(text), 'NOTIFY is written as it parses'),
    () => checkEqual(parseRet(formatRet(parseRet(text))), parseRet(text), 'RET is written as it parses'),
    () => checkEqual(decodeXtext(encodeXtext(validateEnvid(text))), text, 'ENVID is written as it parses'),
    () => {
      const orcpt = validateOrcpt(text)
      check(/^[!-~]*$/.test(formatOrcpt(orcpt)), 'ORCPT is written in printable ASCII')
      check(formatOrcpt(orcpt).length <= 500, 'ORCPT has at most 500 characters')
      const line = Buffer.from(`RCPT TO:<a@b.test> ORCPT=${formatOrcpt(orcpt)}`)
      checkEqual(
        parseRcpt(line, { hostname: 'mx.test', smtputf8: false }).orcpt,
        orcpt,
        'ORCPT parses as it was written',
      )
    },
    () => checkEqual(decodeXtext(encodeXtext(decodeXtext(text))), decodeXtext(text), 'xtext is written as it parses'),
  ]
  for (const parse of parsers) {
    try {
      parse()
    } catch (error) {
      if (!isRefusal(error)) throw error
    }
  }
}

function parseCommands(input: Buffer): void {
  for (const parse of [
    () => parsePlainMail(input, { maxSize: 1_000_000, isEncrypted: true }),
    () => parsePlainRcpt(input, { hostname: 'mx.test', smtputf8: true }),
    () =>
      parsePlainMail(Buffer.concat([Buffer.from('MAIL FROM:<a@b.test>'), input]), {
        maxSize: 1_000_000,
        isEncrypted: true,
      }),
    () =>
      parsePlainRcpt(Buffer.concat([Buffer.from('RCPT TO:<a@b.test>'), input]), {
        hostname: 'mx.test',
        smtputf8: false,
      }),
  ]) {
    try {
      const parsed = parse()
      if (parsed !== null && typeof parsed === 'object' && 'address' in parsed && typeof parsed.address === 'string')
        check(!/[\r\n\0]/.test(parsed.address), 'the address of a command has no line end')
    } catch (error) {
      if (!isRefusal(error) && !(error instanceof ProtocolFault)) throw error
    }
  }
}

function parseRoutes(input: Buffer): void {
  const text = input.toString()
  const parsed = parseRoute(text)
  if (parsed.kind === 'problem') {
    check(parsed.problem.length < 120, 'a problem does not repeat the text')
    return
  }
  const { host, port, auth } = parsed.route
  check(host !== '' && !/[\s/@]/.test(host), 'a host has neither blank nor login')
  check(Number.isInteger(port) && port >= 1 && port <= 65_535, 'a port is a port')
  check(auth === null || !/[\r\n\0]/.test(auth.user + auth.pass), 'a login has no line end')
}

export const addressTargets: readonly FuzzTarget[] = [
  {
    name: 'addresses',
    checks: 'parse(write(x)) = x; lengths; no second header field',
    seeds,
    words,
    run: parseAddresses,
  },
  {
    name: 'address-lists',
    checks: 'addresses are valid; names are printable; no more mailboxes than parts',
    seeds,
    words,
    maxSize: 16_384,
    run: parseLists,
    refuses: isRefusal,
  },
  {
    name: 'dsn-parameters',
    checks: 'parse(write(x)) = x; printable; lengths',
    seeds: [
      'NEVER',
      'SUCCESS,FAILURE,DELAY',
      'FULL',
      'a+2Bb+20c',
      'rfc822;bob+40b.test',
      'utf-8;j\\x{FC}rgen@b.test',
      'utf-8;a\\x{10FFFF}b',
    ],
    words: ['+2B', '\\x{FC}', '\\x{D800}', '\\x{10FFFF}', '\\x{5C}', 'utf-8;', 'rfc822;', '+00', 'NEVER', ','],
    maxSize: 4_096,
    run: parseParameters,
  },
  {
    name: 'smtp-commands',
    checks: 'refused as documented; addresses have no line end',
    seeds: [
      'MAIL FROM:<a@b.test> SIZE=1000 BODY=8BITMIME SMTPUTF8 RET=HDRS ENVID=a+2Bb',
      'MAIL FROM:<> AUTH=<> BODY=7BIT',
      'RCPT TO:<bob@b.test> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;bob+40b.test',
      'RCPT TO:<@relay.test:bob@b.test>',
      'RCPT TO:<"a b"@b.test>',
      ' SIZE=10 RET=FULL',
      ' NOTIFY=NEVER',
    ],
    words: [
      ' SIZE=',
      ' BODY=',
      ' SMTPUTF8',
      ' RET=',
      ' ENVID=',
      ' NOTIFY=',
      ' ORCPT=',
      'rfc822;',
      'utf-8;',
      '<',
      '>',
      '"',
      ':',
      '+2B',
      ' AUTH=<>',
    ],
    maxSize: 8_192,
    run: parseCommands,
  },
  {
    name: 'routes',
    checks: 'host and port are valid; a problem does not repeat the text',
    seeds: ['mx.b.test:25', 'smtps://user:p%40ss@relay.test:465', 'smtp://u:p@[2001:db8::1]', '192.0.2.1:2525'],
    words: ['smtps://', 'smtp://', '%00', '%0a', '@', ':', '[', ']', '/'],
    maxSize: 8_192,
    run: parseRoutes,
  },
]
