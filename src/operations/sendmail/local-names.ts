/**
 * Completes names without a domain, such as `root`, which programs of a machine write. A recipient is looked up in
 * /etc/aliases. What no alias names gets the domain of the sender.
 */
import { readFileSync } from 'node:fs'
import { type Address, domainOf, tryParseAddress } from '../../base/mail/address.js'
import { errorCodeOf, errorMessageOf } from '../../base/platform/errors.js'
import { exitCodes, SendmailFault } from './exit-codes.js'

/** Aliases that lead to others. */
const MAX_DEPTH = 10
const MAX_RECIPIENTS = 10_000

export class LocalNames {
  constructor(
    /** An address of the domain that names get. */
    private readonly ownAddress: Address,
    private readonly aliases: ReadonlyMap<string, readonly string[]>,
  ) {}

  /** Throws a SendmailFault `noUser` for what is no address. */
  complete(name: string): Address {
    const address = tryParseAddress(name.includes('@') ? name : `${name}@${domainOf(this.ownAddress)}`)
    if (address === null) throw new SendmailFault(exitCodes.noUser, `not a mail address: ${JSON.stringify(name)}`)
    return address
  }

  /** The addresses of the recipients, each once. */
  resolve(names: readonly string[]): readonly Address[] {
    const found = new Set<Address>()
    for (const name of names) this.follow(name, MAX_DEPTH, found)
    return [...found]
  }

  private follow(name: string, depth: number, found: Set<Address>): void {
    const targets = name.includes('@') || depth === 0 ? undefined : this.aliases.get(name.toLowerCase())
    if (targets === undefined) found.add(this.complete(name))
    else for (const target of targets) this.follow(target, depth - 1, found)
    if (found.size > MAX_RECIPIENTS) throw tooManyFault()
  }
}

function tooManyFault(): SendmailFault {
  return new SendmailFault(exitCodes.usage, `the message has more than ${MAX_RECIPIENTS} recipients: send it to a list`)
}

/** The aliases that name addresses or other names. Programs, files and lists of files are skipped. */
export function readAliases(file = '/etc/aliases'): ReadonlyMap<string, readonly string[]> {
  try {
    return parseAliases(readFileSync(file, 'utf8'))
  } catch (error) {
    // A file that cannot be read is no file without aliases: mail to root would go astray.
    if (errorCodeOf(error) === 'ENOENT') return new Map()
    throw new SendmailFault(exitCodes.configuration, `${file}: ${errorMessageOf(error)}`)
  }
}

function parseAliases(text: string): ReadonlyMap<string, readonly string[]> {
  const lines = text.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)
  const aliases = lines.flatMap((line): [string, string[]][] => {
    const colon = line.indexOf(':')
    if (line.startsWith('#') || colon < 1) return []
    const targets = line.slice(colon + 1).split(',')
    const usable = targets.map((target) => target.trim().replace(/^\\/, '')).filter((one) => /^[^\s"|/:]+$/.test(one))
    return usable.length === 0 ? [] : [[line.slice(0, colon).trim().toLowerCase(), usable]]
  })
  return new Map(aliases)
}
