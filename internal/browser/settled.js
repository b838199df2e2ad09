new Promise((done) => {
  const frame = requestAnimationFrame;
  frame(() => frame(() => setTimeout(() => frame(() => done(true)), 300)));
})
