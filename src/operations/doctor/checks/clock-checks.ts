/**
 * Checks the clock: whether the system keeps it synchronized, or else against the field Date of a web server; and against
 * the clock of a database server, by which nodes judge each other.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { getOverHttps } from '../../../base/platform/http/https-get.js'
import { recordsOf } from '../answers.js'
import { ANSWER_TIMEOUT, type Check, type CheckDeps } from '../check.js'
import { failure, good, type Judgement, type Remedy, undecided, warning } from '../finding.js'

/** Milliseconds that are a finding. */
const [WARN_OFFSET, FAIL_OFFSET] = [2_000, 60_000]
/** The field Date has whole seconds. */
const DATE_PRECISION = 1_000

export const clockChecks: readonly Check[] = [
  { name: 'clock', summary: 'the clock is right: signatures, certificates and schedules need it', run: checkClock },
]

async function checkClock(deps: CheckDeps): Promise<readonly Judgement[]> {
  return [...(await checkSystem(deps)), ...(await checkAgainstServer(deps))]
}

/** Events are dated by a node, and leases end by the clock of the server. */
async function checkAgainstServer({ config, read, clock }: CheckDeps): Promise<readonly Judgement[]> {
  if (config.storage.url === '' || read === null) return []
  const began = clock()
  const [row] = await read<{ now: number }>(
    'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now',
    [],
  )
  if (row === undefined) return []
  const offset = (began + clock()) / 2 - row.now
  if (Math.abs(offset) < WARN_OFFSET) return [good('clock of PostgreSQL', `${formatSeconds(Math.abs(offset))} s off`)]
  const text = `this clock is ${formatSeconds(Math.abs(offset))} s ${offset < 0 ? 'behind' : 'ahead of'} that of the database server`
  return [warning('clock of PostgreSQL', text, commands)]
}

async function checkSystem(deps: CheckDeps): Promise<readonly Judgement[]> {
  const isSynchronized = await deps.readClockState()
  if (isSynchronized === true) return [good('clock', 'the system keeps the clock synchronized')]
  const url = deps.config.doctor.time_url
  if (url !== null) return [await checkDate(deps, url)]
  if (isSynchronized === false) return [warning('clock', 'the system does not synchronize the clock', commands)]
  return [
    good('clock', 'the clock is not checked, because timedatectl does not mention it and doctor.time_url is empty'),
  ]
}

/** What systemd says about the clock. Null if systemd does not run here. */
export async function readClockState(): Promise<boolean | null> {
  try {
    const asked = ['show', '--property=NTPSynchronized', '--value']
    const { stdout } = await promisify(execFile)('timedatectl', asked, { timeout: ANSWER_TIMEOUT })
    return stdout.trim() === '' ? null : stdout.trim() === 'yes'
  } catch {
    return null
  }
}

async function checkDate({ clock, resolver, authorities }: CheckDeps, url: URL): Promise<Judgement> {
  const problem = 'the system does not say that it synchronizes the clock'
  try {
    const addresses = recordsOf(await resolver.resolveAddresses(url.hostname))
    const limits = { timeout: ANSWER_TIMEOUT, maxBytes: 1, authorities }
    const { date } = await getOverHttps(url, { ...limits, addresses })
    if (date === null) return undecided('clock', `${problem}, and ${url.host} sent no date`, commands)
    return judgeOffset(`Date of ${url.host}`, clock() - date)
  } catch (error) {
    return undecided('clock', `${problem}, and ${url.host} did not answer: ${errorMessageOf(error)}`, commands)
  }
}

const commands: Remedy = ['timedatectl', 'apt-get install systemd-timesyncd', 'timedatectl set-ntp true']

/** `offset` is the number of milliseconds that this clock is ahead of a Date. */
export function judgeOffset(subject: string, offset: number): Judgement {
  const size = Math.max(0, Math.abs(offset) - DATE_PRECISION)
  const text = `the clock is ${formatSeconds(Math.abs(offset))} s ${offset < 0 ? 'behind' : 'ahead'}`
  if (size >= FAIL_OFFSET) return failure(subject, `${text}: DKIM, certificates and one-time codes fail`, commands)
  return size >= WARN_OFFSET ? warning(subject, text, commands) : good(subject, text)
}

function formatSeconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(1)
}
