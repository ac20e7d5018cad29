// A client of the API in a process of its own: schedules emails one after the other, and prints how long each request
// took, in milliseconds, as JSON when its input ends.
import { Agent, request } from 'undici'

const [port, key, ca, pause] = process.argv.slice(2)
const dispatcher = new Agent({ connect: { ca, servername: 'localhost' } })
const times = []
let isOver = false
process.stdin.resume().on('end', () => {
  isOver = true
})

while (!isOver) {
  const begun = performance.now()
  const answer = await request(`https://127.0.0.1:${port}/v1/emails`, {
    dispatcher,
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ from: 'app@a.test', to: 'bob@b.test', subject: 's', text: 't' },
      scheduled_for: new Date(Date.now() + 86_400_000).toISOString(),
    }),
  })
  await answer.body.dump()
  if (answer.statusCode !== 201) throw new Error(`refused: ${answer.statusCode}`)
  times.push(performance.now() - begun)
  await new Promise((resolve) => setTimeout(resolve, Number(pause)))
}
console.log(JSON.stringify(times))
await dispatcher.close()
