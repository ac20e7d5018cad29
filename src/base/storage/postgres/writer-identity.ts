/**
 * Tells the server who writes in a session, so that columns `node` and `slot` fill themselves in, in rows and in triggers.
 */
import type { Statement } from './pipeline-run.js'

/** The settings of a session. */
export const settings = { node: 'posthorn.node', slot: 'posthorn.slot' } as const

/** An expression with the value of a setting: text, of a session that has not set it the value for a command. */
export function settingOf(name: (typeof settings)[keyof typeof settings]): string {
  const ofCommand = name === settings.slot ? '0' : ''
  return `coalesce(nullif(current_setting('${name}', true), ''), '${ofCommand}')`
}

interface WriterIdentity {
  readonly node: string
  readonly slot: number
}

export function identifyWriter({ node, slot }: WriterIdentity): readonly Statement[] {
  return [
    { sql: 'select set_config($1, $2, false)', parameters: [settings.node, node] },
    { sql: 'select set_config($1, $2, false)', parameters: [settings.slot, String(slot)] },
  ]
}
