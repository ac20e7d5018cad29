/** The licenses of the packages that a release contains, as one text: their own files, or what package.json says. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const LICENSE_FILE = /^(?:licen[cs]e|copying|notice)/i

/** The folders of packages to which these files belong, as `node_modules/a` or `node_modules/a/node_modules/@b/c`. */
export function packagesOf(files) {
  const folders = files.map((file) => /^.*\/?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0])
  return [...new Set(folders.filter((folder) => folder !== undefined))].sort()
}

/** Throws if a package names no license. */
export function describeLicenses(folders) {
  return folders.map(describeLicense).join('\n')
}

function describeLicense(folder) {
  const { name, version, author, ...named } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  // Old packages have a list.
  const license = named.license ?? named.licenses?.[0]?.type
  const files = readdirSync(folder).filter((file) => LICENSE_FILE.test(file))
  if (files.length === 0 && license === undefined) throw new Error(`${folder} has no license`)
  const by = typeof author === 'string' ? author : (author?.name ?? 'its authors')
  const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim())
  const words = texts.length > 0 ? texts : [`License ${license}, as its package.json says. Copyright: ${by}.`]
  return `## ${name} ${version} (${license})\n\n${words.join('\n\n')}\n`
}

/** The text that the build of the dashboard wrote about its own packages. */
export function licensesOfDashboard(file) {
  if (!existsSync(file)) throw new Error(`${file} is missing: run scripts/build-ui`)
  const text = readFileSync(file, 'utf8')
  return text.slice(text.indexOf('\n## ') + 1)
}
