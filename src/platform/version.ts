/** The version of this program, as its package.json has it. */
import { readFileSync } from 'node:fs'

/** Compiled, this file lies three folders below the package's own. */
const packageFile = new URL('../../../package.json', import.meta.url)

const { version: packageVersion }: { readonly version: string } = JSON.parse(readFileSync(packageFile, 'utf8'))

export const version = packageVersion
