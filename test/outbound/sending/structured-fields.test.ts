/** Structured header fields of a request with text that is not ASCII: only phrases and comments are encoded. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { composeHeader } from '../../../src/outbound/sending/compose-header.js'
import { findCustomFieldFault } from '../../../src/outbound/sending/custom-fields.js'
import { readStructuredValue } from '../../../src/outbound/sending/structured-fields.js'

const from = { address: parseAddress('a@a.test'), name: '' }
const content = { from, to: [], cc: [], replyTo: [], subject: '', html: null, text: '', attachments: [] }

const compose = (name: string, value: string): string => {
  const header = composeHeader({ ...content, fields: [{ name, value }] } as never)
  return (/\r\n[^\r\n]+: (?!a@a|\r)(.*(?:\r\n[ \t].*)*)\r\n$/s.exec(header)?.[1] ?? '')
    .replace(/\r\n/g, '')
    .replace(/^Subject: *\S*: /, '')
}

const joerg = '=?UTF-8?Q?J=C3=B6rg?='

t.test('phrases are encoded alone; addresses, ids and URLs stay', async (t) => {
  const table: readonly (readonly [name: string, value: string, written: string])[] = [
    ['Disposition-Notification-To', 'Jörg <app@a.test>', `${joerg} <app@a.test>`],
    ['disposition-notification-to', '"Jörg" <app@a.test>, b@b.test', `${joerg} <app@a.test>, <b@b.test>`],
    ['Errors-To', 'Jörg <app@bücher.example>', `${joerg} <app@xn--bcher-kva.example>`],
    ['Return-Receipt-To', 'Jörg <app@a.test>', `${joerg} <app@a.test>`],
    ['Resent-From', 'Ann <a@a.test>, Jörg <app@a.test>', `Ann <a@a.test>, ${joerg} <app@a.test>`],
    ['List-ID', 'Täglich <daily.a.test>', '=?UTF-8?Q?T=C3=A4glich?= <daily.a.test>'],
    ['List-Id', '"Täglich" <daily.a.test>', '=?UTF-8?Q?T=C3=A4glich?= <daily.a.test>'],
    [
      'List-Help',
      '<https://bücher.example/ä> (für Jörg)',
      '<https://xn--bcher-kva.example/%C3%A4> (=?UTF-8?Q?f=C3=BCr_J=C3=B6rg?=)',
    ],
    [
      'List-Unsubscribe',
      '<mailto:a@a.test?subject=tschüß>, <https://a.test/ü>',
      '<mailto:a@a.test?subject=tsch%C3%BC%C3%9F>, <https://a.test/%C3%BC>',
    ],
    ['Keywords', 'Jörg, news', `${joerg}, news`],
    ['X-Note', 'für Jörg <app@a.test>', '=?UTF-8?Q?f=C3=BCr_J=C3=B6rg_=3Capp=40a=2Etest=3E?='],
    ['Disposition-Notification-To', 'Joerg <app@a.test>', 'Joerg <app@a.test>'],
  ]
  for (const [name, value, written] of table) {
    t.equal(findCustomFieldFault(name, value), null, `${name}: ${value}`)
    t.equal(compose(name, value), written, `${name}: ${value}`)
  }
})

t.test('what cannot be written is refused with the rule', async (t) => {
  const table: readonly (readonly [name: string, value: string, rule: RegExp])[] = [
    ['Disposition-Notification-To', 'Jörg', /mail addresses/],
    ['Disposition-Notification-To', 'jörg@a.test', /mail addresses in ASCII/],
    ['Errors-To', 'Jörg <a@a.test> <b@b.test>', /mail addresses/],
    ['List-ID', 'Täglich', /id in ASCII/],
    ['List-ID', 'x <täglich.a.test>', /id in ASCII/],
    ['List-Unsubscribe', 'https://a.test/ü', /angle brackets/],
    ['List-Unsubscribe', '<ü>', /angle brackets/],
    ['Precedence', 'für alle', /ASCII/],
    ['Auto-Submitted', 'auto-génerated', /ASCII/],
  ]
  for (const [name, value, rule] of table) t.match(findCustomFieldFault(name, value), rule, `${name}: ${value}`)
  t.equal(readStructuredValue('X-Anything', 'ü'), null)
  t.equal(readStructuredValue('List-Id', 'ascii'), null, 'what is ASCII stays as it is')
})
