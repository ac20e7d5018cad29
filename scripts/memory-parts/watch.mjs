// The memory of a process tree, from /proc.
import { readdirSync, readFileSync } from 'node:fs'

const EVERY = 100
const PAGE = 4096
const MB = 1_048_576

/**
 * Until `end`: the peaks of all together, with the resident sets of their moment. `proportional`: each
 * shared page once, as a control group counts.
 */
export function watchMemory(root) {
  let found = { resident: 0, proportional: 0, processes: [] }
  const sample = () => {
    const processes = treeOf(root).map(residentOf)
    const resident = processes.reduce((sum, megabytes) => sum + megabytes, 0)
    const proportional = Math.max(found.proportional, proportionalOf(treeOf(root)))
    found = resident > found.resident ? { resident, processes, proportional } : { ...found, proportional }
  }
  const timer = setInterval(sample, EVERY)
  return {
    end: () => {
      clearInterval(timer)
      sample()
      return found
    },
  }
}

function treeOf(root) {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = read(`/proc/${name}/stat`)
      return stat === '' ? [] : [[Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])]]
    })
  const tree = new Set([root])
  for (let size = 0; size < tree.size; ) {
    size = tree.size
    for (const [pid, parent] of parents) if (tree.has(parent)) tree.add(pid)
  }
  return [...tree]
}

function residentOf(pid) {
  return (Number(read(`/proc/${pid}/statm`).split(' ')[1] ?? 0) * PAGE) / MB
}

function proportionalOf(pids) {
  const kilobytes = pids.map((pid) => Number(/^Pss: +(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0))
  return kilobytes.reduce((sum, own) => sum + own, 0) / 1024
}

/** Empty: the process has exited. */
function read(file) {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
