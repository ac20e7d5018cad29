/** What the domains of recipients publish about TLS: MTA-STS records and policies, TLSA records; and certificates of servers. */

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { listUsableRecords, parseTlsa } from '../../../../src/outbound/delivery/hosts/tlsa-record.js'
import {
  formatStsPolicy,
  matchesStsPolicy,
  parseStsPolicy,
  readStsId,
} from '../../../../src/outbound/delivery/transport-security/sts-policy.js'
import { publicKeyOctetsOf } from '../../../../src/outbound/delivery/transport-security/verify-dane.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'

function readPolicy(input: Buffer): void {
  const policy = parseStsPolicy(input.toString())
  if ('fault' in policy) return
  checkEqual(parseStsPolicy(formatStsPolicy(policy).join('\r\n')), policy, 'a policy is written as it parses')
  check(policy.patterns.length <= 50, 'a policy has at most 50 host patterns')
  check(policy.maxAge <= 31_557_600_000, 'a policy holds for a year at most')
  for (const pattern of policy.patterns) {
    check(/^(?:\*\.)?[a-z0-9_.-]+$/.test(pattern), 'a pattern is a host name')
    check(matchesStsPolicy(policy, pattern.replace('*', 'mx')), 'a pattern matches a name that it describes')
  }
}

function readRecord(input: Buffer): void {
  const text = input.toString('latin1')
  const id = readStsId([text])
  check(id === null || /^[a-zA-Z0-9]{1,32}$/.test(id), 'an id is a word')
  checkEqual(readStsId([text, text]), null, 'two records are none')
}

function readTlsa(input: Buffer): void {
  const text = input.toString('latin1')
  const record = parseTlsa(text)
  checkEqual(listUsableRecords([text]).length, record === null ? 0 : 1, 'a usable record is listed')
  if (record === null) return
  const { usage, selector, matching, data } = record
  checkEqual(
    `${usage} ${selector} ${matching} ${data.toString('hex')}`.slice(0, 6),
    text.slice(0, 6),
    'the form is kept',
  )
}

const certificate = new X509Certificate(readFileSync('test/fixtures/dane/server.pem')).raw

export const transportSecurityTargets: readonly FuzzTarget[] = [
  {
    name: 'sts-policies',
    checks: 'written as it parses; at most 50 patterns, each a host name that it matches; a year at most',
    seeds: [
      'version: STSv1\r\nmode: enforce\r\nmx: mail.b.test\r\nmx: *.b.test\r\nmax_age: 604800\r\n',
      'version: STSv1\nmode: none\nmax_age: 0\n',
    ],
    words: ['mx: ', 'mx: *.', 'mode: testing', 'max_age: ', '\n', '\r\n', ':'],
    run: readPolicy,
  },
  {
    name: 'sts-records',
    checks: 'an id is a word; two records are none',
    seeds: ['v=STSv1; id=20260831085700Z;', 'v=STSv1;id=a'],
    words: ['v=STSv1;', 'id=', ';', ' '],
    run: readRecord,
  },
  {
    name: 'tlsa-records',
    checks: 'a usable record keeps its form',
    seeds: [`3 1 1 ${'ab'.repeat(32)}`, `2 0 2 ${'cd'.repeat(64)}`, '3 1 0 3003'],
    words: ['3 1 1 ', '2 0 0 ', 'ff', ' '],
    run: readTlsa,
  },
  {
    name: 'certificate-keys',
    checks: 'the key lies within the certificate; RangeError otherwise',
    seeds: [certificate],
    words: ['\x30\x82', '\xa0\x03', '\x30\x80', '\x30\x84\xff\xff\xff\xff', '\x02\x01'],
    run: (input) => check(publicKeyOctetsOf(input).length <= input.length, 'the key lies within the certificate'),
    refuses: (error) => error instanceof RangeError,
  },
]
