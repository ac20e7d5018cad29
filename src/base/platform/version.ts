/** The version of this program, as its package.json has it. */
import { readFileSync } from 'node:fs'

/** The compiled file is three folders below the package's root. */
const packageFile = new URL('../../../../package.json', import.meta.url)

const { version: packageVersion }: { readonly version: string } = JSON.parse(readFileSync(packageFile, 'utf8'))

export const version = packageVersion
