/** What the evaluations print. A result has a label, a status, a score, and what was found: { name, score }. */
import { kindsOf } from './labels.mjs'

export const percent = (part, all) => (all === 0 ? '-' : `${((100 * part) / all).toFixed(2)} %`)

export function printVerdicts(title, results) {
  console.log(`\n${title}\n             clean  suspicious  spam`)
  for (const [label, all] of kindsOf(results)) {
    const counts = ['clean', 'suspicious', 'spam'].map((status) => all.filter((one) => one.status === status).length)
    const [, suspicious, spam] = counts
    const shares = `${percent(suspicious + spam, all.length)} suspicious or spam, ${percent(spam, all.length)} spam`
    const shown = counts.map((count, at) => String(count).padStart([7, 12, 6][at])).join('')
    console.log(`${label.padEnd(11)}${shown}   ${shares}`)
  }
}

export function printCurve(results) {
  console.log('\nscore  spam caught  ham flagged')
  for (let threshold = 1; threshold <= 15; threshold += 1) {
    const reach = (isHam) => {
      const all = results.filter(({ label }) => (label === 'ham') === isHam)
      return percent(all.filter(({ score }) => score >= threshold).length, all.length)
    }
    console.log(`${String(threshold).padStart(5)}${reach(false).padStart(13)}${reach(true).padStart(13)}`)
  }
}

/** `lists`: milliseconds by name. */
export function printTimes(lists) {
  const at = (list, share) => (list.toSorted((a, b) => a - b)[Math.floor((list.length - 1) * share)] ?? 0).toFixed(2)
  console.log('\nms a message: median, 99 of 100, most')
  for (const [name, list] of Object.entries(lists)) {
    const figures = [0.5, 0.99, 1].map((share) => at(list, share).padStart(8)).join('')
    console.log(`  ${name.padEnd(12)}${figures}   (${list.length} measured)`)
  }
}

/** How often each was found in spam and in ham; `names` in their order, with what else to print of them. */
export function printFound(results, names) {
  console.log('\n  spam   ham  found')
  for (const [name, more] of names) {
    const hits = (isHam) =>
      results.filter(({ label, found }) => (label === 'ham') === isHam && found.some((one) => one.name === name)).length
    console.log(`${String(hits(false)).padStart(6)}${String(hits(true)).padStart(6)}  ${name} ${more}`)
  }
}

export function printMisses(results) {
  const wrong = results.filter(({ label, status }) => (label === 'ham' ? status !== 'clean' : status === 'clean'))
  for (const { path, label, score, found } of wrong.toSorted((a, b) => b.score - a.score)) {
    console.log(`\n${label} ${score} ${path}\n  ${found.map((one) => `${one.name} ${one.score}`).join(', ')}`)
  }
}
