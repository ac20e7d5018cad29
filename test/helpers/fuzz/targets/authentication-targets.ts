/** SPF, DKIM, DMARC and ARC of a message, their records in DNS, and the fields that report the results. */

import { findFields, readFieldValue, scanHeader } from '../../../../src/base/mail/header-fields.js'
import type { LookupResult, RecordResolver } from '../../../../src/base/platform/dns/resolver.js'
import { authenticate } from '../../../../src/inbound/receiving/authentication/authenticate.js'
import {
  formatAuthenticationResults,
  formatReceivedSpf,
} from '../../../../src/inbound/receiving/authentication/result-fields.js'
import { serviceIdOf, withTrace } from '../../../../src/inbound/receiving/authentication/trace-fields.js'
import { parsePublicKey } from '../../../../src/workspaces/domains/dkim/key-record.js'
import { ed25519Key, rsaKey, signMessage } from '../../mail/sign-message.js'
import { check, type FuzzTarget } from '../target.js'
import { messageSeeds, messageWords } from './message-seeds.js'
import { isRefusal } from './refusals.js'

const keys = [rsaKey(), ed25519Key()] as const
const message = 'From: Ann <ann@a.test>\r\nTo: bob@b.test\r\nSubject: hello\r\n\r\nhello\r\n'
const client = { clientAddress: '192.0.2.1', helo: 'client.test', envelopeFrom: 'ann@a.test', hostname: 'mx.test' }
const rules = {
  a: 'v=spf1 a mx ip4:192.0.2.0/28 include:%{d}.b.test ~all',
  dmarc: 'v=DMARC1; p=reject; sp=quarantine; adkim=s',
}

function recordsOf<T>(...records: readonly [T, ...T[]]): LookupResult<T> {
  return { kind: 'records', records }
}

/** `policy`: the text of each record of SPF and DMARC; `key`: of each key. */
function resolverOf(policy: (name: string) => string, key: (name: string) => string): RecordResolver {
  return {
    resolveRecords: async (name, type) => {
      if (type === 'TXT') return recordsOf(name.includes('_domainkey') ? key(name) : policy(name))
      if (type === 'A') return recordsOf('192.0.2.1')
      return type === 'PTR' ? recordsOf('client.test') : { kind: 'no-data' }
    },
    resolveMx: async () => recordsOf({ preference: 10, exchange: 'mx.b.test' }),
  }
}

const soundResolver = resolverOf(
  (name) => (name.startsWith('_dmarc') ? rules.dmarc : rules.a),
  (name) => `v=DKIM1; ${keys[name.startsWith('ed') ? 1 : 0].record}`,
)

/** What is checked: nothing in a message or a record writes a field of ours, or survives as one. */
async function authenticateMessage(raw: Buffer, resolver: RecordResolver): Promise<void> {
  const authentication = await authenticate(raw, client, { resolver, clock: () => 1_800_000_000_000 })
  const results = [
    { name: 'Authentication-Results', value: formatAuthenticationResults(authentication, client) },
    { name: 'Received-SPF', value: formatReceivedSpf(authentication, client) },
  ] as const
  for (const { value } of results) {
    check(/^(?:[ -~]|\r\n )*$/.test(value), 'a result is printable ASCII, folded')
    check(
      value.split('\r\n').every((line) => line.length <= 998),
      'a line has at most 998 octets',
    )
  }
  const header = scanHeader(raw)
  const traced = Buffer.concat(
    withTrace(
      raw,
      header,
      {
        returnPath: '',
        helo: client.helo,
        address: client.clientAddress,
        hostname: client.hostname,
        protocol: 'ESMTP',
        tls: null,
        id: 'x',
        recipient: null,
        now: 0,
      },
      results,
    ),
  )
  const found = scanHeader(traced)
  check(findFields(found, 'return-path').length === 1, 'there is one Return-Path')
  const names = found.fields.slice(0, 4).map(({ name }) => name)
  check(names.join() === 'return-path,authentication-results,received-spf,received', 'our fields are on top')
  const ours = findFields(found, 'authentication-results').filter(
    (field) => (serviceIdOf(readFieldValue(traced, field).slice(0, 2_000)) ?? 'mx.test').toLowerCase() === 'mx.test',
  )
  check(ours.length === 1, 'only our results have our name')
  check(traced.subarray(found.bodyStart).equals(raw.subarray(header.bodyStart)), 'the body stays')
}

const keyRecord = `v=DKIM1; ${keys[0].record}`
const recordSeeds = [
  rules.a,
  rules.dmarc,
  keyRecord,
  'v=spf1 redirect=_spf.b.test exp=why.%{d}',
  'v=spf1 exists:%{ir}.%{v}._spf.%{d2} ptr ip6:2001:db8::/32 -all',
  'v=DMARC1; p=none; rua=mailto:a@b.test!10m; psd=y; t=y; np=reject',
  'v=DKIM1; h=sha256; k=ed25519; t=s:y; s=email; n=note; p=YWJj',
]
const signed = [
  signMessage(message, keys[0], { domain: 'a.test' }),
  signMessage(message, keys[1], { domain: 'a.test', selector: 'ed', more: 'i=@a.test; l=2' }),
  signMessage(signMessage(message, keys[1], { domain: 'b.test', selector: 'ed' }), keys[0], {
    domain: 'a.test',
    names: 'from:to:subject:from',
  }),
]

async function readRecords(input: Buffer): Promise<void> {
  const text = input.toString('latin1')
  parsePublicKey(text)
  const all = resolverOf(
    () => text,
    () => text,
  )
  await authenticateMessage(Buffer.from(signed[0] ?? message, 'latin1'), all)
}

export const authenticationTargets: readonly FuzzTarget[] = [
  {
    name: 'signatures',
    checks: 'results are printable and folded; none of our fields is forged; the body stays',
    seeds: [...signed, ...messageSeeds],
    words: [
      ...messageWords,
      'DKIM-Signature: ',
      'ARC-Seal: i=1; ',
      'ARC-Message-Signature: ',
      'Authentication-Results: mx.test',
      'c=simple/simple',
      'l=0',
      'x=1',
      'q=dns/txt',
      'a=ed25519-sha256',
      '"mx.test"',
      '(',
      'Return-Path: <>\r\n',
    ],
    run: (raw) => authenticateMessage(raw, soundResolver),
    refuses: isRefusal,
  },
  {
    name: 'authentication-records',
    checks: 'results are printable and folded; none of our fields is forged',
    seeds: recordSeeds,
    words: [
      'v=spf1 ',
      'include:',
      'redirect=',
      'exp=',
      'exists:',
      '%{i}',
      '%{s}',
      '%{l1r-}',
      '%{ir}',
      '%%',
      '%_',
      'ip4:',
      'ip6:',
      '/32',
      '//128',
      ' -all',
      'ptr',
      'mx',
      'v=DMARC1;',
      'p=',
      'adkim=',
      'v=DKIM1;',
      'k=rsa;',
      'k=ed25519;',
      'h=sha1',
      't=s',
      ';',
      ':',
      '+',
      '\u0000',
    ],
    maxSize: 16_384,
    run: readRecords,
    refuses: isRefusal,
  },
]
