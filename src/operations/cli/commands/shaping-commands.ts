/** `shaping`, `shaping reset`: what the replies of providers have taught about the pace at which they take mail. */
import { pacesByChange, resetProvider } from '../../../outbound/delivery/shaping/pace-store.js'
import { viewPace } from '../../../outbound/delivery/shaping/pace-view.js'
import { type Answer, type Call, CommandFailed, refuseExtraWords, requiredWord } from '../command/command.js'
import { formatTable } from '../command/table.js'

/** Paces that are listed. They are those that have changed last. */
const MAX_LISTED = 1_000

/** The longer name comes first, because the first that fits is taken. */
export async function list({ words, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { read } = await database()
  const now = clock()
  const data = (await pacesByChange(read, { limit: MAX_LISTED })).map((row) => viewPace(row, now))
  const rows = data.map(({ provider, source_address, sessions, messages_per_session, rate, state, until, reason }) => [
    ...[provider, source_address ?? '-', state, sessions ?? '-', messages_per_session ?? '-', rate ?? '-'].map(String),
    ...[until ?? '-', reason ?? ''],
  ])
  const heads = ['PROVIDER', 'SOURCE', 'STATE', 'SESSIONS', 'PER SESSION', 'RATE/S', 'UNTIL', 'REASON']
  return {
    json: { data },
    lines: data.length === 0 ? ['no provider has refused anything for its pace'] : formatTable(heads, rows),
  }
}

export async function reset({ words, database }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const provider = requiredWord(words, 0, 'PROVIDER')
  const { read, commit } = await database()
  const known = (await pacesByChange(read, { limit: MAX_LISTED })).filter((row) => row.provider === provider)
  if (known.length === 0) throw new CommandFailed(`no pace of ${provider} is kept; "posthorn shaping" lists them`)
  await commit([resetProvider({ provider })])
  return { json: { provider }, lines: [`the pace of ${provider} is learned again`] }
}
