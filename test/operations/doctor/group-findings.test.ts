/** What is wrong, with what follows from it. */
import t from 'tap'
import type { Finding } from '../../../src/operations/doctor/finding.js'
import { groupProblems, stateOf } from '../../../src/operations/doctor/group-findings.js'

function finding(check: string, state: Finding['state'], more: Partial<Finding> = {}): Finding {
  return { check, subject: check, state, text: '', remedy: [], ...more }
}

const undecided = { undecided: true } as const

t.test('failures come first, and a cause has what it explains', async (t) => {
  const groups = groupProblems([
    finding('disk', 'ok'),
    finding('tls', 'warn'),
    finding('dns', 'fail', { explains: ['ptr', 'zone'] }),
    finding('ptr', 'warn', undecided),
    finding('zone', 'warn'),
    finding('zone', 'warn', undecided),
    finding('acme', 'warn', undecided),
    finding('mx', 'fail'),
  ])
  t.same(
    groups.map(({ finding: { check }, followers }) => [check, ...followers.map((one) => one.check)]),
    [['dns', 'ptr', 'zone'], ['mx'], ['tls'], ['zone'], ['acme']],
  )
})

t.test('a group is as bad as its worst finding', async (t) => {
  const daemon = finding('daemon', 'warn', { explains: ['port25-in'] })
  const groups = groupProblems([finding('tls', 'warn'), daemon, finding('port25-in', 'fail')])
  t.same(
    groups.map((group) => [group.finding.check, stateOf(group)]),
    [
      ['daemon', 'fail'],
      ['tls', 'warn'],
    ],
  )
  t.same(
    groupProblems([finding('daemon', 'ok'), finding('port25-in', 'fail')]).map(({ followers }) => followers),
    [[]],
  )
})
