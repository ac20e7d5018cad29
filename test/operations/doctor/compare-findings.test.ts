/** Which findings of a run are news, by tables and with random runs. */
import fc from 'fast-check'
import t from 'tap'
import { compareFindings, MAX_STORED, type StoredFinding } from '../../../src/operations/doctor/compare-findings.js'
import type { Finding, FindingState } from '../../../src/operations/doctor/finding.js'

const finding = (subject: string, state: FindingState, more: Partial<Finding> = {}): Finding => {
  return { check: 'ptr', subject, state, text: state, remedy: [], ...more }
}
const stored = (subject: string, state: 'warn' | 'fail', more: Partial<StoredFinding> = {}): StoredFinding => {
  return { check: 'ptr', subject, state, text: 'old', remedy: [], failedAt: 1, checkedAt: 1, isNoticed: true, ...more }
}
const subjects = (list: readonly { readonly subject: string }[]): string[] => list.map(({ subject }) => subject)

t.test('what a finding becomes', async (t) => {
  type Row = readonly [string, readonly StoredFinding[], readonly Finding[], string[], string[], string[]]
  const open = { undecided: true } as const
  const table: readonly Row[] = [
    ['new', [], [finding('a', 'warn'), finding('b', 'fail'), finding('c', 'ok')], ['a', 'b'], ['a', 'b'], []],
    ['the same', [stored('a', 'fail')], [finding('a', 'fail')], ['a'], [], []],
    ['worse', [stored('a', 'warn')], [finding('a', 'fail')], ['a'], ['a'], []],
    ['better, not good', [stored('a', 'fail')], [finding('a', 'warn')], ['a'], [], []],
    ['right again', [stored('a', 'fail')], [finding('a', 'ok')], [], [], ['a']],
    ['gone', [stored('a', 'fail')], [finding('b', 'ok')], [], [], ['a']],
    ['not answered', [stored('a', 'fail')], [finding('a', 'warn', open)], ['a'], [], []],
    ['not answered, unknown before', [], [finding('a', 'warn', open)], [], [], []],
    ['its check had no result', [stored('a', 'fail')], [finding('ptr', 'warn', open)], ['a'], [], []],
    [
      'right, beside one not answered',
      [stored('a', 'fail')],
      [finding('a', 'ok'), finding('b', 'warn', open)],
      [],
      [],
      ['a'],
    ],
    ['another check', [stored('a', 'fail')], [finding('a', 'warn', { check: 'helo', ...open })], [], [], ['a']],
  ]
  for (const [what, before, findings, present, failed, recovered] of table) {
    const found = compareFindings(before, findings, 9)
    t.same(subjects(found.present), present, `${what}: present`)
    t.same(subjects(found.failed), failed, `${what}: failed`)
    t.same(subjects(found.recovered), recovered, `${what}: recovered`)
  }
})

t.test('what is known of a finding stays; what has become worse is news', async (t) => {
  t.match(compareFindings([stored('a', 'fail')], [finding('a', 'fail')], 9).present, [
    { failedAt: 1, checkedAt: 9, isNoticed: true, text: 'fail' },
  ])
  t.match(compareFindings([stored('a', 'warn')], [finding('a', 'fail')], 9).present, [
    { failedAt: 9, isNoticed: false },
  ])
  t.match(compareFindings([stored('a', 'fail')], [finding('a', 'warn', { undecided: true })], 9).present, [
    { checkedAt: 1, text: 'old' },
  ])
})

t.test('no more than some hundred are stored', async (t) => {
  const many = Array.from({ length: MAX_STORED + 5 }, (_, at) => finding(`s${at}`, 'fail'))
  const { present, failed } = compareFindings([], many, 9)
  t.equal(present.length, MAX_STORED)
  t.equal(failed.length, MAX_STORED)
})

t.test('a second equal run is no news, whatever was stored', async () => {
  const state = fc.constantFrom<FindingState>('ok', 'warn', 'fail')
  const one = fc.record({ subject: fc.constantFrom('a', 'b', 'c'), state, open: fc.boolean() })
  const runs = fc.uniqueArray(one, { selector: ({ subject }) => subject })
  const findingsOf = (run: readonly { subject: string; state: FindingState; open: boolean }[]): Finding[] =>
    run.map(({ subject, state, open }) => finding(subject, state, open ? { undecided: true, state: 'warn' } : {}))
  fc.assert(
    fc.property(runs, runs, (first, second) => {
      const before = compareFindings([], findingsOf(first), 1).present
      const once = compareFindings(before, findingsOf(second), 2)
      const twice = compareFindings(once.present, findingsOf(second), 3)
      return twice.failed.length === 0 && twice.recovered.length === 0
    }),
  )
})
