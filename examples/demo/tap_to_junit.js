// TAP as tape 3 writes it, on standard input, as JUnit XML. A test is a "# name" and the assertions below it.
'use strict';
const lines = require('fs').readFileSync(0, 'utf8').split('\n');
const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

const cases = [];
for (const line of lines) {
  const name = /^# (?!tests |pass |fail |ok$)(.+)/.exec(line);
  if (name) cases.push({ name: name[1], failures: [] });
  const failed = /^not ok \d+ (.*)/.exec(line);
  if (failed && cases.length) cases[cases.length - 1].failures.push(failed[1]);
}
console.log('<testsuite name="minimist">');
for (const { name, failures } of cases) {
  const inside = failures.map((text) => `<failure message="${escape(text)}"/>`).join('');
  console.log(`<testcase name="${escape(name)}">${inside}</testcase>`);
}
console.log('</testsuite>');
