/**
 * Bundles the program and the packages that it uses into a few files for each thread, from src/ to a folder with the same
 * places: `FOLDER/src/main.js`, the workers at the names of their sources, and `FOLDER/src/chunks` with what they share.
 *
 * A daemon of these files starts with half the CPU time of one with a file for each module, and takes a fifth less memory.
 */
import { chmod, readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'

/** These load binaries from their own folders, or are loaded by a name that the bundler does not see. */
export const separatePackages = ['better-sqlite3', 'koffi', 'mrml']

/** `pg` asks for it and goes on without it. */
const absentPackages = ['pg-native']

/** Stands for the way from a file to the folder of all, until that file's place is known. */
const WAY_UP = '@way-up@'

/** Returns the files that went into it. `without`: a folder of sources whose programs are left out. */
export async function bundleProgram(folder, { without } = {}) {
  await rm(join(folder, 'src/chunks'), { recursive: true, force: true })
  const bundle = await rolldown({
    input: await findEntries(without),
    platform: 'node',
    external: [...separatePackages, ...absentPackages],
    resolve: { mainFields: ['module', 'main'] },
    tsconfig: false,
    checks: { eval: false },
    plugins: [placesOfSources],
  })
  const { output } = await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'src/chunks/[name]-[hash].js',
    sourcemap: true,
    sourcemapPathTransform: (source, map) => relative(dirname(map), nameSource(folder, resolve(dirname(map), source))),
  })
  await chmod(join(folder, 'src/main.js'), 0o755)
  return output.flatMap(({ moduleIds = [] }) => moduleIds.map((id) => relative('.', id)))
}

/**
 * In source maps: as it lies, for files in the clone; for those of a package, as if the clone were the folder around them. So the
 * bytes of a package do not depend on where the clone is.
 */
function nameSource(folder, source) {
  const own = relative('.', source)
  return relative('.', folder).startsWith('..') ? join(resolve(folder), '..', own) : source
}

/** Programs, workers, and modules that a thread or process imports under their own name. */
async function findEntries(without) {
  const names = (await readdir('src', { recursive: true })).filter((name) => /(?<!\.d)\.ts$/.test(name))
  const sources = names
    .filter((name) => !name.startsWith('ui/'))
    .map((name) => `src/${name}`)
    .filter((source) => without === undefined || !source.startsWith(without))
  const entries = await Promise.all(sources.sort().map(async (source) => ((await isEntry(source)) ? [source] : [])))
  return Object.fromEntries(entries.flat().map((source) => [source.replace(/\.ts$/, ''), source]))
}

async function isEntry(source) {
  if (/(?:\/main|-worker)\.ts$/.test(source)) return true
  return (await readFile(source, 'utf8')).includes('module: new URL(import.meta.url)')
}

/** Gives `import.meta.url` the value that it has in a module by itself, because workers and files are named relative to it. */
const placesOfSources = {
  name: 'places-of-sources',
  transform(code, id) {
    const source = relative('.', id)
    if (!source.startsWith('src/') || !code.includes('import.meta.url')) return null
    const place = JSON.stringify(WAY_UP + source.replace(/\.ts$/, '.js'))
    return { code: code.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`), map: null }
  },
  renderChunk(code, { fileName }) {
    return code.includes(WAY_UP)
      ? { code: code.replaceAll(WAY_UP, `${relative(dirname(fileName), '.')}/`), map: null }
      : null
  },
}
