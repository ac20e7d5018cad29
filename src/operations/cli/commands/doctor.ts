/**
 * `doctor`: checks the machine, its DNS and the work of the service, whether a daemon runs or not.
 *
 * Exit status: 0 without a failure (warnings included), 1 with one. With `--nagios` it is that of a monitoring plugin.
 */
import { existsSync } from 'node:fs'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { errorMessageOf } from '../../../base/platform/errors.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { StorageFault } from '../../../base/storage/db/write.js'
import { databaseFile } from '../../../base/storage/open.js'
import type { Check } from '../../doctor/check.js'
import { allChecks } from '../../doctor/checks/all-checks.js'
import { openCheckDeps } from '../../doctor/checks/open-deps.js'
import { countStates, type Finding, type FindingState, type StateTotals, worstState } from '../../doctor/finding.js'
import { type FindingGroup, groupProblems, stateOf } from '../../doctor/group-findings.js'
import { chooseChecks } from '../../doctor/local-trial.js'
import { runChecks } from '../../doctor/run-checks.js'
import { type Answer, type Call, flagOption, UsageError } from '../command/command.js'

export async function runDoctor(call: Call): Promise<Answer> {
  const { words, options, config, written, clock } = call
  const isPlugin = flagOption(options, 'nagios')
  if (isPlugin && flagOption(options, 'json')) throw new UsageError('--json and --nagios do not go together')
  const checks = words.length === 0 ? chooseChecks(allChecks, config) : findChecks(words)
  const at = clock()
  const { read, fault } = await openRead(call)
  const found = await runChecks(checks, (signal) => openCheckDeps({ config, written, clock, read }, signal))
  const findings = [...fault, ...found]
  const totals = countStates(findings)
  const seconds = ((clock() - at) / 1_000).toFixed(1)
  if (isPlugin) return buildPluginAnswer(findings, totals)
  const groups = groupProblems(findings)
  return {
    json: { state: worstState(totals), checked_at: formatTimestamp(at), totals, findings },
    lines: [
      ...formatFindings(findings, groups, words.length === 0),
      '',
      `${formatGroupTotals(totals.ok, groups)} in ${seconds} s`,
    ],
    failed: totals.fail > 0,
  }
}

function findChecks(names: readonly string[]): readonly Check[] {
  const unknown = names.find((name) => !allChecks.some((check) => check.name === name))
  if (unknown !== undefined) {
    throw new UsageError(`no check is called ${unknown}: there are ${allChecks.map(({ name }) => name).join(', ')}`)
  }
  return allChecks.filter(({ name }) => names.includes(name))
}

interface OpenedRead {
  readonly read: Read | null
  readonly fault: readonly Finding[]
}

async function isEmpty({ storage }: Call['config']): Promise<boolean> {
  const { isEmptyServer } = await import('../../../base/storage/postgres/configured-server.js')
  return isEmptyServer(storage)
}

/** A database that cannot be opened is a finding; one that is not there yet is not made. */
async function openRead({ config, database }: Call): Promise<OpenedRead> {
  const isServer = config.storage.url !== ''
  const file = isServer ? 'storage.url' : databaseFile(config.service.data_dir)
  if (!isServer && !existsSync(file)) return { read: null, fault: [] }
  try {
    if (isServer && (await isEmpty(config))) return { read: null, fault: [] }
    return { read: (await database()).read, fault: [] }
  } catch (error) {
    // A database of another version is whole, and its error says what to do.
    const isFault = error instanceof StorageFault
    const ofFiles = ['posthorn verify-data', 'posthorn restore FILE   # with the daemon stopped']
    const remedy = isServer ? ['posthorn check'] : isFault ? ofFiles : []
    const fault: Finding = { check: 'database', subject: file, state: 'fail', text: errorMessageOf(error), remedy }
    return { read: null, fault: [fault] }
  }
}

const labels: Readonly<Record<FindingState, string>> = { ok: 'ok', warn: 'WARN', fail: 'FAIL' }
/** Columns of a line about what is right. */
const SHORT_LINE = 100

/** What is wrong comes first. `isBrief`: what is right is a short line for each check. */
function formatFindings(
  findings: readonly Finding[],
  groups: readonly FindingGroup[],
  isBrief: boolean,
): readonly string[] {
  const width = Math.max(...findings.map(({ check }) => check.length), 0)
  const problems = groups.flatMap((group) => formatProblem(group, width))
  const right = findings.filter(({ state }) => state === 'ok')
  const lines = isBrief ? formatBriefly(right, width) : right.flatMap((one) => formatFinding(one, 'ok', width))
  return [...problems, ...(problems.length > 0 && lines.length > 0 ? [''] : []), ...lines]
}

function formatProblem(group: FindingGroup, width: number): readonly string[] {
  const { finding, followers } = group
  const indent = ' '.repeat(width + 9)
  return [
    ...formatFinding(finding, stateOf(group), width),
    ...listFollowers(
      'not run for this reason',
      followers.filter(({ undecided }) => undecided === true),
    ),
    ...listFollowers(
      'wrong for this reason',
      followers.filter(({ undecided }) => undecided !== true),
    ),
  ].map((line, at) => (at > finding.remedy.length ? `${indent}${line}` : line))
}

function listFollowers(words: string, followers: readonly Finding[]): readonly string[] {
  const names = [...new Set(followers.map(({ check }) => check))]
  return names.length === 0 ? [] : [`${words}: ${names.join(', ')}`]
}

function formatBriefly(findings: readonly Finding[], width: number): readonly string[] {
  const names = [...new Set(findings.map(({ check }) => check))]
  return names.flatMap((name) => {
    const [first, ...others] = findings.filter(({ check }) => check === name)
    if (first === undefined) return []
    const shared = { ...first, subject: `${others.length + 1} subjects`, text: 'all right' }
    const [line = ''] = formatFinding(others.length === 0 ? first : shared, 'ok', width)
    return line.length > SHORT_LINE ? `${line.slice(0, SHORT_LINE - 1)}…` : line
  })
}

function formatFinding(
  { check, subject, text, remedy }: Finding,
  state: FindingState,
  width: number,
): readonly string[] {
  const indent = ' '.repeat(width + 9)
  return [
    `${labels[state].padEnd(5)} ${check.padEnd(width)}  ${subject}: ${text}`,
    ...remedy.map((line) => `${indent}${line}`),
  ]
}

/** A cause counts once. */
function formatGroupTotals(ok: number, groups: readonly FindingGroup[]): string {
  const states = countStates(groups.map((group) => ({ state: stateOf(group) })))
  const followers = groups.reduce((sum, group) => sum + group.followers.length, 0)
  return `${formatTotals({ ...states, ok })}${followers === 0 ? '' : `, ${followers} more from the same causes`}`
}

function formatTotals({ ok, warn, fail }: StateTotals): string {
  return `${ok} ok, ${warn} ${warn === 1 ? 'warning' : 'warnings'}, ${fail} ${fail === 1 ? 'failure' : 'failures'}`
}

const pluginStates = {
  ok: { status: 0, word: 'OK' },
  warn: { status: 1, word: 'WARNING' },
  fail: { status: 2, word: 'CRITICAL' },
} as const

/** One line with the worst finding and the counts, then a line for each further one (Nagios Plugin API). */
function buildPluginAnswer(findings: readonly Finding[], totals: StateTotals): Answer {
  const state = worstState(totals)
  const { status, word } = pluginStates[state]
  const problems = [
    ...findings.filter((one) => one.state === 'fail'),
    ...findings.filter((one) => one.state === 'warn'),
  ]
  const [worst, ...others] = problems.map(({ check, subject, text }) =>
    `${check} ${subject}: ${text}`.replaceAll('|', '/'),
  )
  const { ok, warn, fail } = totals
  const head = `POSTHORN ${word} - ${formatTotals(totals)}${worst === undefined ? '' : `; ${worst}`}`
  return { json: null, lines: [`${head} | ok=${ok} warn=${warn} fail=${fail}`, ...others], status }
}
