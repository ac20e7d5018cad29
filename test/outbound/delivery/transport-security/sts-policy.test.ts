import t from 'tap'
import {
  formatStsPolicy,
  matchesStsPolicy,
  parseStsPolicy,
  readStsId,
} from '../../../../src/outbound/delivery/transport-security/sts-policy.js'

t.test('the id of the one record', async (t) => {
  const rows: readonly (readonly [records: readonly string[], id: string | null])[] = [
    [['v=STSv1; id=20160831085700Z;'], '20160831085700Z'],
    [['v=STSv1;id=a'], 'a'],
    [['v=STSv1 ; id = a ; future=1'], 'a'],
    [['v=spf1 -all', 'v=STSv1; id=a;'], 'a'],
    [['v=STSv1; id=a;', 'v=STSv1; id=b;'], null],
    [['v=STSv1; id=;'], null],
    [['v=STSv1'], null],
    [['v=STSv10; id=a'], null],
    [['V=STSv1; id=a'], null],
    [[' v=STSv1; id=a'], null],
    [['v=STSv1; id=a b'], null],
    [[`v=STSv1; id=${'a'.repeat(33)}`], null],
    [[], null],
  ]
  for (const [records, id] of rows) t.equal(readStsId(records), id, records.join(' | '))
})

const policy = (...lines: string[]): string => ['version: STSv1', ...lines, ''].join('\r\n')

t.test('a policy', async (t) => {
  const text = policy(
    'mode: enforce',
    'mx: MAIL.example.com',
    'mx: *.Example.net',
    'mx: backup.example.com.',
    'max_age: 604800',
  )
  const parsed = parseStsPolicy(text)
  t.same(parsed, {
    mode: 'enforce',
    patterns: ['mail.example.com', '*.example.net', 'backup.example.com'],
    maxAge: 604_800_000,
  })
  t.same(parseStsPolicy(text.replaceAll('\r\n', '\n')), parsed, 'bare LF ends a line too')
  t.same(parseStsPolicy(`${text}future_key: 1\r\nmode: none\r\n`), parsed, 'unknown fields, and a field given twice')
  t.same(parseStsPolicy(policy('mode: none', 'max_age: 0')), { mode: 'none', patterns: [], maxAge: 0 })
  t.match(parseStsPolicy(policy('mode: testing', 'mx: a.test', 'max_age: 9999999999')), { maxAge: 31_557_600_000 })
  if ('fault' in parsed) throw new Error(parsed.fault)
  const lines = [
    'version: STSv1',
    'mode: enforce',
    'mx: mail.example.com',
    'mx: *.example.net',
    'mx: backup.example.com',
  ]
  t.same(formatStsPolicy(parsed), [...lines, 'max_age: 604800'])
})

t.test('what is no policy', async (t) => {
  const rows: readonly (readonly [text: string, fault: string])[] = [
    ['a:\n'.repeat(21_000), 'length'],
    ['', 'version'],
    ['<html>', 'version'],
    ['version: STSv2\nmode: none\nmax_age: 1', 'version'],
    [policy('max_age: 1'), 'mode'],
    [policy('mode: Enforce', 'mx: a.test', 'max_age: 1'), 'mode'],
    [policy('mode: enforce', 'mx: a.test'), 'max_age'],
    [policy('mode: enforce', 'mx: a.test', 'max_age: -1'), 'max_age'],
    [policy('mode: enforce', 'mx: a.test', 'max_age: 99999999999'), 'max_age'],
    [policy('mode: enforce', 'max_age: 1'), 'mx'],
    [policy('mode: enforce', 'mx: a.*.test', 'max_age: 1'), 'mx'],
    [policy('mode: enforce', 'mx: a.test b.test', 'max_age: 1'), 'mx'],
    [policy('mode: enforce', ...Array.from({ length: 51 }, (_, n) => `mx: a${n}.test`), 'max_age: 1'), 'mx'],
  ]
  for (const [text, fault] of rows) t.same(parseStsPolicy(text), { fault }, JSON.stringify(text.slice(0, 60)))
})

t.test('a wildcard stands for one label', async (t) => {
  const patterns = ['mail.example.com', '*.example.net']
  const rows = [
    ['mail.example.com', true],
    ['mx.example.net', true],
    ['a.b.example.net', false],
    ['example.net', false],
    ['net', false],
    ['other.example.com', false],
    ['mail.example.com.evil.test', false],
  ] as const
  for (const [mx, listed] of rows) t.equal(matchesStsPolicy({ patterns }, mx), listed, mx)
})
