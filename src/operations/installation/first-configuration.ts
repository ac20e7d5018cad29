/**
 * The first configuration: config/production.toml with the names and addresses of this machine.
 *
 * The result is parsed before it is returned, so that a template that has changed its form stops the installation and
 * not the first start.
 */
import type { Config, Machine } from '../../base/config/complete.js'
import { parseConfig } from '../../base/config/load.js'
import { formatProblems } from '../../base/config/problems.js'

export interface FirstSettings {
  /** Null if the line stays a comment. */
  readonly hostname: string | null
  readonly publicAddresses: readonly string[]
  readonly hasIpv6: boolean
  /** The folder of the pages that the comments name. */
  readonly docs: string
  /** The file that describes every setting. */
  readonly reference: string
}

interface FirstConfiguration {
  readonly text: string
  readonly config: Config
}

/** `file` is the path where it will be. */
export function renderConfiguration(
  template: string,
  { hostname, publicAddresses, hasIpv6, docs, reference }: FirstSettings,
  file: string,
  machine: Machine,
): FirstConfiguration {
  let text = replaceHeading(template, reference).replaceAll('docs/', `${docs}/`)
  if (hostname !== null) text = setCommented(text, 'hostname', JSON.stringify(hostname))
  if (publicAddresses.length > 0) text = setCommented(text, 'public_addresses', formatList(publicAddresses))
  if (hasIpv6) text = text.replace(/^(?!#)(\w+ = \[)"0\.0\.0\.0:(\d{1,5})"\]$/gm, '$1"0.0.0.0:$2", "[::]:$2"]')
  const loaded = parseConfig(text, file, machine)
  if (loaded.kind === 'problems') throw new Error(formatProblems(file, loaded.problems))
  return { text, config: loaded.config }
}

/** The template says how to install it by hand. */
function replaceHeading(template: string, reference: string): string {
  const from = '# config/posthorn.toml describes'
  const at = template.indexOf(from)
  if (at < 0) throw new Error(`the template has no line "${from} …"`)
  const heading = '# Written at the installation. After a change: posthorn check, then systemctl reload posthorn.'
  return `${heading}\n# ${reference} describes${template.slice(at + from.length)}`
}

/** Replaces the commented example of a key. */
function setCommented(text: string, key: string, value: string): string {
  const lines = text.split('\n')
  const at = lines.findIndex((line) => line.startsWith(`# ${key} = `))
  if (at < 0) throw new Error(`the template has no line "# ${key} = …"`)
  return lines.with(at, `${key} = ${value}`).join('\n')
}

function formatList(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(', ')}]`
}
